// `dashboard`: a link to the page for people, opened in the browser where there is one.

import { spawn } from 'node:child_process'
import type { Env } from '@agent-relay/sdk/discover'
import type { Run } from '../command.ts'
import { choose, control, nextId } from '../starting.ts'

export const run: Run = async (invocation) => {
  const { options, print, env } = invocation
  const link = await control(env)
  try {
    if (options.logout) {
      const { ended } = await link.call('page.logout', {}, nextId('c'))
      if (print.isJson) await print.json({ ended })
      else await print.line(`Logged out: every link and login of the page has ended (${ended} open).`)
      return
    }
    const { project: workspace } = choose(invocation, env)
    const { url, until } = await link.call('page.link', { workspace }, nextId('c'))
    if (print.isJson) return void (await print.json({ url, until }))
    await print.line(`${url}${until === undefined ? '' : '      once, within five minutes'}`)
    if (options.open !== false) open(url, env)
  } finally {
    await link.close()
  }
}

/** The program is given the address as an argument, never through a shell. Without a desktop there is only the printed link. */
function open(url: string, env: Env): void {
  const isDesktop = process.platform !== 'linux' || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY)
  if (!isDesktop || !process.stdout.isTTY) return
  const [program, ...args] = openers[process.platform] ?? ['xdg-open']
  const child = spawn(program as string, [...args, url], { stdio: 'ignore', detached: true })
  child.on('error', () => {})
  child.unref()
}

const openers: Partial<Record<NodeJS.Platform, string[]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}
