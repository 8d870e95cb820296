// The doctor's checks of the machine: Node, the port, and the agent CLIs on PATH.

import { execFile } from 'node:child_process'
import { createServer } from 'node:net'
import { detected, programPath, surroundingsOf } from '@agent-relay/mcp/install'
import { portOwner } from '../../port-owner.ts'
import { httpWish } from '../http.ts'
import { nextId, reachControl } from '../starting.ts'
import { oneLine } from '../text.ts'
import type { Check, Finding } from './finding.ts'

const nodeLeast = [20, 19] as const
/** Some of them start slowly. */
const versionMs = 15_000

export const node: Check = ({ nodeVersion }) => {
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number)
  const isOld = major < nodeLeast[0] || (major === nodeLeast[0] && minor < nodeLeast[1])
  if (!isOld) return [{ check: 'node', state: 'ok', text: `Node ${nodeVersion}` }]
  const text = `Node ${nodeVersion} is too old: Agent Relay needs ${nodeLeast.join('.')} or newer`
  return [{ check: 'node', state: 'fault', text, mend: 'install a newer one from https://nodejs.org' }]
}

/** A daemon that runs has its port already. */
export const port: Check = async ({ env }) => {
  const link = await reachControl(env)
  const http = link && (await link.call('daemon.status', {}, nextId('c'))).http
  await link?.close()
  if (link)
    return [
      { check: 'port', state: 'ok', text: http ? `the daemon listens at ${http.url}` : 'the daemon has no HTTP port' },
    ]
  const wish = httpWish({}, env)
  if (!wish || wish.port === 0) return [{ check: 'port', state: 'ok', text: 'any free one' }]
  if (await isFree(wish.port)) return [{ check: 'port', state: 'ok', text: `${wish.port} is free` }]
  const owner = portOwner(wish.port)
  const text = `port ${wish.port} is taken by another program${owner === undefined ? '' : ` (${owner})`}`
  const other = wish.port < 65_535 ? wish.port + 1 : wish.port - 1
  return [
    {
      check: 'port',
      state: 'fault',
      text,
      mend: `choose another: RELAY_PORT=${other}, or agent-relay up --port ${other}`,
    },
  ]
}

function isFree(number: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port: number, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)))
  })
}

export const clis: Check = async ({ env, cwd }) => {
  const around = surroundingsOf(env, cwd)
  const found = detected(around).flatMap((editor) => {
    const path = programPath(editor, around)
    return path === undefined ? [] : [{ editor, path }]
  })
  if (found.length === 0)
    return [
      {
        check: 'clis',
        state: 'note',
        text: 'no agent CLI is on PATH',
        mend: 'for instance: npm install -g @anthropic-ai/claude-code',
      },
    ]
  return Promise.all(
    found.map(async ({ editor, path }): Promise<Finding> => {
      const version = await versionOf(path, env)
      const check = `cli ${editor.name}`
      if (version !== undefined) return { check, state: 'ok', text: `${version} (${path})` }
      return { check, state: 'fault', text: `${path} does not tell its version`, mend: `try it: ${path} --version` }
    }),
  )
}

function versionOf(path: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = execFile(path, ['--version'], { env, timeout: versionMs, killSignal: 'SIGKILL' }, (error, stdout) =>
      resolve(error ? undefined : oneLine(stdout.split('\n').find((line) => /\d/.test(line)) ?? '') || undefined),
    )
    child.stdin?.end()
  })
}
