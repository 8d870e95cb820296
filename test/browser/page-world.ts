// A real daemon, a real browser with the page open in it by a printed link, and real agents. Complaints of the browser are kept. No tests.
/// <reference lib="dom" />

import { fileURLToPath } from 'node:url'
import { controlSocketPath } from '@agent-relay/sdk/internal/discover'
import { socketConnector } from '@agent-relay/sdk/wire'
import { type Browser, chromium, type Page } from 'playwright-core'
import { HttpWorld } from '../../packages/relay/tests/wires/http-world.ts'
import type { RelayConnectOptions } from '../../packages/sdk/src/browser.ts'
import { connectRelay, type Relay } from '../../packages/sdk/src/index.ts'
import { guardMs } from '../guard.ts'
import { found } from './chromium.ts'
import { printedLink } from './link.ts'

export type View = 'now' | 'talk' | 'agent' | 'runs' | 'actions' | 'recorder' | 'everywhere'

/** Chromium's warning when a person leaves the page while one of its connections is being opened: a page cannot prevent it. */
const leftWhileConnecting = /WebSocket is closed before the connection is established/

/** What a browser did that it should not: errors, blocked parts, and requests to elsewhere. */
export function complaintsOf(page: Page, origin: string): string[] {
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`))
  page.on('console', (said) => {
    const isBad = said.type() === 'error' || said.type() === 'warning'
    if (isBad && !leftWhileConnecting.test(said.text())) complaints.push(`${said.type()}: ${said.text()}`)
  })
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => {
    const address = request.url()
    if (!address.startsWith(origin) && !address.startsWith('data:') && !address.startsWith('blob:'))
      complaints.push(`request: ${address}`)
  })
  page.on('popup', () => complaints.push('popup'))
  return complaints
}

export async function launch(): Promise<Browser> {
  return await chromium.launch({ executablePath: found.path, args: ['--no-sandbox'] })
}

export class PageWorld {
  readonly http: HttpWorld
  readonly browser: Browser
  readonly page: Page
  readonly complaints: string[]
  readonly #agents: Relay[] = []
  /** What the person is called. */
  me = ''

  private constructor(http: HttpWorld, browser: Browser, page: Page) {
    this.http = http
    this.browser = browser
    this.page = page
    this.complaints = complaintsOf(page, http.url)
  }

  static async start(more: Parameters<typeof HttpWorld.start>[2] = {}): Promise<PageWorld> {
    const http = await HttpWorld.start({}, ['home'], more)
    const browser = await launch()
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
    context.setDefaultTimeout(guardMs)
    const page = await context.newPage()
    const world = new PageWorld(http, browser, page)
    await page.goto(await world.link())
    await page.getByText('you are').waitFor()
    world.me = /you are (\S+)/.exec((await page.locator('.line').textContent()) ?? '')?.[1] ?? ''
    return world
  }

  link(): Promise<string> {
    return printedLink(this.http.dir, 'home')
  }

  /** What only the owner may ask. */
  async control(op: 'page.logout'): Promise<Record<string, unknown>> {
    const control = await socketConnector(controlSocketPath(this.http.dir))({})
    try {
      return await control.call(op, {}, `c${Math.random()}`)
    } finally {
      await control.close()
    }
  }

  /** As a person at a worker's terminal. */
  async types(name: string, data: string): Promise<void> {
    const { workspace } = await this.http.daemon.open('home')
    workspace.workers.terminalOf(name)?.type(data)
  }

  async agent(name: string, more: Partial<RelayConnectOptions> = {}): Promise<Relay> {
    const relay = await connectRelay({ name, key: this.http.key, url: this.http.url, ...more })
    this.#agents.push(relay)
    return relay
  }

  /** Goes there as a link would. */
  async show(view: View, ...parts: string[]): Promise<void> {
    const hash = [view, ...parts].map(encodeURIComponent).join('/')
    await this.page.evaluate((to) => {
      location.hash = to
    }, `#/${hash}`)
    await this.page.locator(`.view-${view}`).waitFor()
  }

  async stop(): Promise<void> {
    await this.browser.close()
    await Promise.all(this.#agents.map((agent) => agent.close()))
    await this.http.stop()
  }
}

export const axePath = fileURLToPath(new URL('../../node_modules/axe-core/axe.min.js', import.meta.url))

/** What axe-core finds, however small. */
export async function findingsOn(page: Page): Promise<string[]> {
  return await page.evaluate(async () => {
    type Found = { id: string; nodes: { html: string; failureSummary: string }[] }
    const { axe } = globalThis as unknown as { axe: { run(): Promise<{ violations: Found[] }> } }
    const { violations } = await axe.run()
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`)
  })
}
