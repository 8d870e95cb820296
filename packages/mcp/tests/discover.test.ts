// The socket that the pipe would use: the pipe's own copy of discovery finds the same as the SDK's.

import { createRequire } from 'node:module'
import { beforeEach, describe, expect, test, vi } from 'vitest'

const { existsSync } = vi.hoisted(() => ({ existsSync: vi.fn() }))
vi.mock('node:fs', async (original) => {
  const real = await original<typeof import('node:fs')>()
  return { ...real, existsSync, statSync: () => undefined, default: real }
})
const { discoverSocket } = await import('@agent-relay/sdk/internal/discover')

describe('discoverSocket', () => {
  beforeEach(() => {
    vi.clearAllMocks()
    vi.stubEnv('RELAY_SOCKET', undefined)
    vi.stubEnv('RELAY_PROJECT', undefined)
  })

  test('RELAY_SOCKET goes first', () => {
    vi.stubEnv('RELAY_SOCKET', '/tmp/test.sock')
    vi.stubEnv('RELAY_PROJECT', 'myproject')
    existsSync.mockReturnValue(true)
    const found = discoverSocket()
    expect(found?.socketPath).toBe('/tmp/test.sock')
    expect(found?.source).toBe('env')
  })

  test('RELAY_PROJECT goes second', () => {
    vi.stubEnv('RELAY_PROJECT', 'myproject')
    existsSync.mockImplementation((path) => String(path).includes('myproject'))
    const found = discoverSocket()
    expect(found?.project).toBe('myproject')
    expect(found?.source).toBe('env')
  })

  test('null where no socket is found', () => {
    existsSync.mockReturnValue(false)
    expect(discoverSocket()).toBeNull()
  })
})

test('required from CommonJS it is the same module, without a warning and without zod', () => {
  const twin = createRequire(import.meta.url)('@agent-relay/sdk/internal/discover')
  expect(Object.keys(twin)).toEqual(expect.arrayContaining(['findDaemon', 'reachDaemon', 'discoverSocket', 'setting']))
  const loaded = Object.keys(createRequire(import.meta.url).cache).filter((path) => /[/\\]zod[/\\]/.test(path))
  expect(loaded).toEqual([])
})
