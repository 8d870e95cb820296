// `daemon …`: the relay in the background, from outside. The process itself is daemon-run.ts.

import { setTimeout as sleep } from 'node:timers/promises'
import { isAlive, type Link, uptimeText } from '@agent-relay/sdk'
import { dataDir, type Env } from '@agent-relay/sdk/discover'
import { CommandError, exits, type Run } from '../command.ts'
import { sayVersion } from '../context.ts'
import { awaitEnding } from '../ending.ts'
import { hasHttpWish, httpArgs, httpWish, portStays } from '../http.ts'
import { LogReader, logEnd, logPath } from '../log-file.ts'
import type { Print } from '../print.ts'
import {
  choose,
  control,
  forgetMemory,
  isMemory,
  memoryEnv,
  nextId,
  reachAndOpen,
  reachControl,
  reachOrSpawn,
} from '../starting.ts'
import { homely } from '../text.ts'

/** A daemon answers what is under way for two seconds and then goes. */
const stopMs = 10_000
const lookAgainMs = 40
const logLinesDefault = 100

export const start: Run = async (invocation) => {
  const { options, print } = invocation
  const memory = options.memory || options.test
  const env = memory ? memoryEnv(invocation.env) : invocation.env
  const wish = httpWish(options, env, choose(invocation, env).project)
  const args = [...httpArgs(wish), ...(memory ? ['--memory'] : [])]
  try {
    const reaching = reachAndOpen(() => reachOrSpawn(env, args), invocation, env)
    const { link, entry, childPid } = await print.during('starting the daemon', reaching)
    sayVersion(print, link.welcome.version)
    const { pid, http } = await statusOf(link)
    const isNew = pid === childPid
    if (!isNew && hasHttpWish(options)) print.say(portStays(http?.url))
    await link.close()
    const settings = { RELAY_DATA_DIR: dataDir(env), RELAY_SOCKET: entry.socketPath }
    if (print.isJson) {
      const { name, id, socketPath, path } = entry
      await print.json({
        workspace: name,
        id,
        socketPath,
        path,
        dataDir: dataDir(env),
        pid,
        isNew,
        url: http?.url,
        ...(memory ? { env: settings } : {}),
      })
    } else if (memory) {
      await print.line(`export RELAY_DATA_DIR=${settings.RELAY_DATA_DIR} RELAY_SOCKET=${settings.RELAY_SOCKET}`)
      if (!options.quiet)
        print.say(`A relay in memory runs (pid ${pid}). Set what stands above; agent-relay daemon stop ends it.`)
    } else if (!options.quiet) {
      print.say(`${isNew ? 'The daemon runs' : 'The daemon was running already'} (pid ${pid}).`)
      await print.line(`workspace ${entry.name}  ${homely(entry.socketPath, env.HOME)}`)
      if (http) await print.line(`http      ${http.url}/mcp`)
    }
  } catch (error) {
    if (memory) await stopAndWait(env).catch(() => forgetMemory(env))
    throw error
  }
}

export const stop: Run = async ({ env, print }) => {
  const pid = await print.during('stopping', stopAndWait(env))
  if (print.isJson) await print.json({ stopped: true, pid })
  else print.say(`The daemon has stopped (pid ${pid}).`)
}

/** The lock is freed last, so a start after this finds the place empty. */
async function stopAndWait(env: Env): Promise<number> {
  const link = await control(env)
  const { pid } = await statusOf(link)
  await link.call('daemon.stop', {}, nextId('c'))
  void link.close()
  // Only here: it brings the store along.
  const { isRunning } = await import('../../from-outside.ts')
  for (const until = Date.now() + stopMs; isRunning(dataDir(env)); await sleep(lookAgainMs)) {
    if (Date.now() > until)
      throw new CommandError(`The daemon (pid ${pid}) was asked to stop and still runs.`, exits.busy)
  }
  return pid
}

export const restart: Run = async ({ env, print }) => {
  if (isMemory(env))
    throw new CommandError(
      'A relay in memory ends with its process. Start a new one: agent-relay daemon start --test',
      exits.usage,
    )
  const before = await reachControl(env)
  const open = before ? await openNames(before) : []
  const http = before ? (await statusOf(before)).http : httpWish({}, env)
  void before?.close()
  if (before) await print.during('stopping', stopAndWait(env))
  else print.say('No daemon was running.')
  const { link } = await print.during('starting the daemon', reachOrSpawn(env, httpArgs(http)))
  for (const workspace of open) {
    const { socketPath } = await link.call('workspace.open', { workspace }, nextId('c'))
    if (!(await isAlive(socketPath))) throw new CommandError(`The socket ${socketPath} does not answer.`, exits.busy)
  }
  const { pid, version: running } = await statusOf(link)
  await link.close()
  if (print.isJson) await print.json({ pid, version: running, workspaces: open })
  else print.say(`The daemon runs (pid ${pid}). Open: ${open.join(', ') || 'no workspace'}.`)
}

async function openNames(link: Link): Promise<string[]> {
  const { workspaces } = await link.call('workspace.list', {}, nextId('c'))
  return workspaces.filter(({ open }) => open).map(({ name }) => name)
}

export const status: Run = async ({ env, print }) => {
  const link = await control(env)
  const found = await statusOf(link)
  await link.close()
  sayVersion(print, found.version)
  if (print.isJson) return void (await print.json(found))
  await sayStatus(print, found, env)
}

async function sayStatus(print: Print, found: Awaited<ReturnType<typeof statusOf>>, env: Env): Promise<void> {
  const { version: running, pid, uptimeMs, residentMb, lagMs, workspaces } = found
  const open = workspaces.filter((workspace) => workspace.open).map(({ name }) => name)
  const shut = workspaces.filter((workspace) => !workspace.open).map(({ name }) => name)
  await print.table(
    [{ head: '' }, { head: '' }],
    [
      ['daemon', `agent-relay ${running}, pid ${pid}, up ${uptimeText(uptimeMs)}`],
      ['load', `${residentMb} MB, event loop late by ${lagMs.p50} ms (p50), ${lagMs.p99} ms (p99)`],
      ...(found.http ? [['http', `${found.http.url}${found.http.isOpen ? ', open to every program here' : ''}`]] : []),
      ['data', homely(found.dataDir, env.HOME)],
      ['log', homely(logPath(found.dataDir), env.HOME)],
      ['open', open.join(', ') || 'no workspace'],
      ...(shut.length > 0 ? [['not open', shut.join(', ')]] : []),
    ],
  )
}

function statusOf(link: Link) {
  return link.call('daemon.status', {}, nextId('c'))
}

export const logs: Run = async ({ env, options, print }) => {
  const show = (line: string) => (print.isJson ? print.json({ line }) : print.line(line))
  const directory = dataDir(env)
  const lines = logEnd(directory, options.lines ?? logLinesDefault)
  for (const line of lines) void show(line)
  if (!options.follow) {
    if (lines.length === 0)
      print.say(`Nothing is logged in ${homely(logPath(directory), env.HOME)}: only a daemon in the background logs.`)
    return
  }
  const ending = awaitEnding()
  const reader = new LogReader(directory)
  reader.read()
  while (!ending.aborted) {
    for (const line of reader.read()) void show(line)
    await sleep(200, undefined, { signal: ending }).catch(() => {})
  }
}
