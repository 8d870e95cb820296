// The web page for people: serves its files, and answers the requests that it makes outside its WebSocket. page-login.ts checks logins.

import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { OutputOf } from '@agent-relay/sdk/protocol'
import type { HttpBindings } from '@hono/node-server'
import type { Context, Hono } from 'hono'
import { RefusalError } from '../core/refusal-error.ts'
import type { Callers } from './callers.ts'
import { isOwnPage, type PageLogin } from './page-login.ts'
import type { PortConnections } from './port-connections.ts'
import { jsonBody } from './requests.ts'

/** The folder with the built files of packages/dashboard. The path is the same from the sources and from the built package. */
const directory = fileURLToPath(new URL('../../dist/page/', import.meta.url))

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
}

/** Response headers that allow the page nothing from other origins, nothing inline, and no frame around it. */
const guards = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** The paths that show one workspace. The page reads the name from its path, so that several tabs can show several workspaces. */
const pagePath = /^\/w\/[^/]+\/?$/
/** The address of the page's list of workspaces: `/w/` without a name leads there. */
const allWorkspaces = '/#/everywhere'
/** Maximum size of a login request's body: enough for a code, and little, since the caller has shown no credential yet. */
const codeBytesMax = 16 * 1024

interface PageFile {
  type: string
  body: Buffer
  packed: Promise<Buffer>
}

type PageContext = Context<{ Bindings: HttpBindings }>

export interface PageOptions {
  login: PageLogin
  callers: Callers
  connections: PortConnections
  playDemo?(here?: string): Promise<string>
  /** What a person sees of these workspaces without opening them. */
  overview(workspaces: readonly string[]): Promise<OutputOf<'workspace.overview'>>
  /** The name under which a person types our commands in any directory. Unset if that is `agent-relay`. */
  ownName?: string
}

/** Mounts `/` and `/w/NAME/`, which are the page itself, `/assets/*`, `/session`, `/overview`, and, if the daemon has a demo, `/demo`. */
export function mountPage(app: Hono<never>, options: PageOptions): void {
  const { login, callers, connections, playDemo, overview, ownName = 'agent-relay' } = options
  const page = app as unknown as Hono<{ Bindings: HttpBindings }>
  let files: Map<string, PageFile> | undefined
  const serve = async (c: PageContext) => {
    files ??= readFiles()
    const file = files.get(pagePath.test(c.req.path) ? '/' : c.req.path)
    if (!file) throw new RefusalError('route.unknown', { path: c.req.path, routes: ['/'] })
    return answerFile(c, file)
  }
  page.get('/', serve)
  page.get('/w', (c) => c.redirect(allWorkspaces))
  page.get('/w/*', async (c) => (c.req.path === '/w/' ? c.redirect(allWorkspaces) : serve(c)))
  page.get('/assets/*', serve)
  page.get('/session', async (c) => {
    const access = await login.find(c.env.incoming, c.req.query('workspace'))
    if (!access) throw login.loginRefusal()
    access.release()
    connections.markAuthenticated(c.env.incoming.socket)
    const { dispatch, human, workspaces, isAll } = access
    const { name: workspace } = dispatch.workspace
    const hasDemo = isAll && playDemo !== undefined
    const own = { workspace, workspaces, agent: human, isOpen: callers.isOpen, hasDemo, ownName }
    const { clis, directory } = dispatch.workspace.workers.choicesFor(human)
    return c.json({ ...own, clis, directory, faults: isAll ? callers.faults() : [] }, 200, guards)
  })
  page.get('/overview', async (c) => {
    const access = await login.find(c.env.incoming, c.req.query('workspace'))
    if (!access) throw login.loginRefusal()
    access.release()
    return c.json(await overview(access.workspaces), 200, guards)
  })
  page.post('/session', async (c) => {
    mustBePage(c)
    const { code } = ((await jsonBody(c, 'session', codeBytesMax)) ?? {}) as { code?: unknown }
    const cookie = typeof code === 'string' && code.length <= 20 ? login.redeem(code) : undefined
    if (!cookie) throw login.loginRefusal()
    connections.markAuthenticated(c.env.incoming.socket)
    return c.body(null, 204, { ...guards, 'set-cookie': cookieText(c, login, cookie.value, cookie.seconds) })
  })
  if (playDemo)
    page.post('/demo', async (c) => {
      mustBePage(c)
      const { here } = ((await jsonBody(c, 'demo', codeBytesMax)) ?? {}) as { here?: unknown }
      const access = await login.find(c.env.incoming, typeof here === 'string' ? here : undefined)
      access?.release()
      // Only a login for all workspaces may play the demo: without `here` the demo makes a new workspace, which a login for one workspace could not open.
      if (!access?.isAll) throw login.loginRefusal()
      const own = typeof here === 'string' ? access.dispatch.workspace.name : undefined
      return c.json({ workspace: await playDemo(own) }, 200, guards)
    })
  page.delete('/session', (c) => {
    mustBePage(c)
    return c.body(null, 204, { ...guards, 'set-cookie': cookieText(c, login, '', 0) })
  })
}

/** Refuses requests that are not from the page itself: another site's form can neither set the header `x-relay-page` nor have this origin. */
function mustBePage(c: PageContext): void {
  if (c.req.header('x-relay-page') !== '1' || !isOwnPage(c.env.incoming))
    throw new RefusalError('auth.denied', { why: 'only the page itself may ask this.' })
}

function cookieText(c: PageContext, login: PageLogin, value: string, seconds: number): string {
  return `${login.cookieName(c.env.incoming)}=${value}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${seconds}`
}

async function answerFile(c: PageContext, { type, body, packed }: PageFile): Promise<Response> {
  const isPacked = /\bgzip\b/.test(c.req.header('accept-encoding') ?? '')
  const headers: Record<string, string> = {
    ...guards,
    'content-type': type,
    // The file names of assets change with their content, so browsers may keep them; the name of the HTML file does not change.
    'cache-control': type === types['.html'] ? 'no-cache' : 'public, max-age=31536000, immutable',
    vary: 'accept-encoding',
    ...(isPacked ? { 'content-encoding': 'gzip' } : {}),
  }
  return new Response(new Uint8Array(isPacked ? await packed : body), { headers })
}

/** Reads all files of the page once, so that no other file in or around their directory can be requested. */
function readFiles(): Map<string, PageFile> {
  const pack = promisify(gzip)
  const files = new Map<string, PageFile>()
  const names = readdirSync(directory, { recursive: true, withFileTypes: true })
  for (const entry of names.filter((each) => each.isFile())) {
    const path = join(entry.parentPath, entry.name)
    const body = readFileSync(path)
    const url = `/${path.slice(directory.length).replaceAll('\\', '/')}`
    const file = { type: types[extname(path)] ?? 'application/octet-stream', body, packed: pack(body) }
    files.set(url === '/index.html' ? '/' : url, file)
  }
  return files
}
