// `dashboard`: creates a link to the page for people, and opens it in a browser if there is one.

import { spawn } from 'node:child_process'
import type { Env } from '@agent-relay/sdk/internal/discover'
import type { CliCommand, CliOptions, CommandContext } from '../command.ts'
import { workspaceOfCommand } from '../connection.ts'
import { nextCommandId, withControl } from '../control-socket.ts'
import { controlAsPerson } from '../person.ts'

const dashboardOptions = {
  only: { flags: '--only <name>', text: 'a link that opens this workspace alone; else it opens all of them' },
  open: { flags: '--no-open', text: 'only print the link' },
  logout: { flags: '--logout', text: 'end every link and login of the page' },
} satisfies CliOptions

export const dashboard: CliCommand<typeof dashboardOptions> = {
  options: dashboardOptions,
  examples: ['agent-relay dashboard', 'agent-relay dashboard --only app', 'agent-relay dashboard --logout'],
  actsForNoAgent: true,
  run,
}

async function run(context: CommandContext<typeof dashboardOptions>): Promise<void> {
  const { options, print, env } = context
  if (options.logout) return logout(context)
  const workspace = options.only ?? workspaceOfCommand(context, env)
  const input = { workspace, only: options.only !== undefined }
  const { url, until } = await controlAsPerson(env, (link) => link.call('page.link', input, nextCommandId('c')))
  if (print.isJson) return void (await print.json({ url, until }))
  await print.line(`${url}      once, within five minutes`)
  if (options.open !== false) open(url, env)
}

async function logout({ print, env }: CommandContext): Promise<void> {
  const { ended } = await withControl(env, (link) => link.call('page.logout', {}, nextCommandId('c')))
  if (print.isJson) await print.json({ ended })
  else await print.line(`Logged out: every link and login of the page has ended (${ended} open).`)
}

/** Opens the link in a browser, without a shell. Does nothing if there is no desktop: the link was printed. */
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
