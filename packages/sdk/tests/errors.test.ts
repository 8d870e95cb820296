import { describe, expect, it } from 'vitest'
import {
  AgentNotFoundError,
  ChannelNotFoundError,
  ConnectionError,
  DaemonNotRunningError,
  errorFrom,
  RelayError,
  TimeoutError,
} from '../src/errors.ts'
import { refusal } from '../src/protocol/refusals.ts'

describe('errors', () => {
  it.each([
    [new RelayError('no'), 'RelayError', 'no'],
    [
      new DaemonNotRunningError(),
      'DaemonNotRunningError',
      'Relay daemon is not running. Start with: agent-relay daemon start',
    ],
    [new DaemonNotRunningError('gone'), 'DaemonNotRunningError', 'gone'],
    [new AgentNotFoundError('Ada'), 'AgentNotFoundError', 'Agent not found: Ada'],
    [new ChannelNotFoundError('#x'), 'ChannelNotFoundError', 'Channel not found: #x'],
    [new TimeoutError('send', 50), 'TimeoutError', 'Timeout after 50ms: send'],
    [new ConnectionError('reset'), 'ConnectionError', 'Connection error: reset'],
  ])('%s', (error, name, text) => {
    expect(error).toBeInstanceOf(RelayError)
    expect(error).toBeInstanceOf(Error)
    expect(error.name).toBe(name)
    expect(error.message).toBe(text)
  })

  it('makes the class by code and keeps text, code, details and retry of a refusal', () => {
    const unknown = refusal('agent.unknown', { name: 'Ada', nearest: ['Ida'] })
    const error = errorFrom(unknown)
    expect(error).toBeInstanceOf(AgentNotFoundError)
    expect(error).toMatchObject({ ...unknown, agentName: 'Ada' })
    expect(error.message).toContain('Did you mean Ida?')
    expect(errorFrom(refusal('channel.unknown', { channel: '#x', channels: ['#general'] }))).toMatchObject({
      name: 'ChannelNotFoundError',
      channel: '#x',
    })
    expect(errorFrom(refusal('wait.timeout', { to: 'bob', ms: 50, message: 'm_1' }))).toMatchObject({
      name: 'TimeoutError',
      code: 'wait.timeout',
      timeoutMs: 50,
      retry: true,
      message: expect.stringContaining('Timeout waiting for response from bob'),
    })
  })

  it('lets codes of a newer daemon through', () => {
    expect(errorFrom({ code: 'moon.full', message: 'Wait a week.' })).toMatchObject({
      name: 'RelayError',
      code: 'moon.full',
      message: 'Wait a week.',
      retry: false,
      details: {},
    })
  })
})
