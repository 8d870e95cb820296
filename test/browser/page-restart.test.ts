// The daemon is killed and started again under an open page: it goes on without a reload, with every message once and in order.

import { setTimeout as sleep } from 'node:timers/promises'
import { WorkspaceClient } from '@agent-relay/sdk/internal/client'
import { socketConnector } from '@agent-relay/sdk/wire'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Running, World } from '../../packages/relay/tests/cli/cli-world.ts'
import { freePort } from '../free-port.ts'
import { guardMs } from '../guard.ts'
import { found, inChromium } from './chromium.ts'
import { launch } from './page-world.ts'

const rounds = 4
const perRound = 40

describe.skipIf(found.path === undefined)(`a restart under the page, ${inChromium}`, () => {
  const world = new World()
  let browser: Browser
  let port: string
  const up = async (): Promise<Running> => {
    const running = world.start(['up', '--port', port])
    await running.says(/ready\./)
    return running
  }
  beforeAll(async () => {
    port = String(await freePort())
    browser = await launch()
  })
  afterAll(async () => {
    await browser?.close()
    await world.close()
  })

  it('loses nothing, doubles nothing, and says so meanwhile', async () => {
    let daemon = await up()
    const { url } = await world.json<{ url: string }>(['dashboard', '--no-open'])
    const { socketPath } = await world.json<{ socketPath: string }>(['status'])
    const ann = new WorkspaceClient(socketConnector(socketPath), { agentName: 'Ann' })
    const page = await browser.newPage()
    page.setDefaultTimeout(guardMs)
    await page.goto(url)
    await page.getByText('you are').waitFor()
    await page.evaluate(() => {
      ;(globalThis as { isSame?: boolean }).isSame = true
      location.hash = '#/talk/%23general'
    })
    const field = page.getByLabel('Message', { exact: true })
    const acknowledged: string[] = []
    const send = async (text: string): Promise<void> => {
      await ann.send('#general', text)
      acknowledged.push(text)
    }
    for (let round = 0; round < rounds; round++) {
      const sending = Promise.all(
        Array.from({ length: perRound }, (_, i) => sleep(i * 8).then(() => send(`${round}.${i}`))),
      )
      // Dead in the middle of things, and back.
      await sleep((perRound * 8) / 2)
      daemon.child.kill('SIGKILL')
      await page.getByText('Reconnecting').waitFor()
      await field.fill(`from the page, round ${round}`)
      await field.press('Enter')
      await daemon.ended
      daemon = await up()
      await page.getByText('you are').waitFor()
      await sending
    }
    const stored = (await ann.call('message.list', { conversation: '#general', limit: 500 })).messages.map(
      ({ body }) => body,
    )
    expect(new Set(stored).size).toBe(stored.length)
    expect(acknowledged.filter((text) => !stored.includes(text))).toEqual([])
    expect(stored.filter((text) => text.startsWith('from the page'))).toHaveLength(rounds)
    await page
      .getByText(stored.at(-1) as string, { exact: true })
      .last()
      .waitFor()
    expect(await page.evaluate(readAll)).toEqual(stored)
    expect(await page.evaluate(() => (globalThis as { isSame?: boolean }).isSame)).toBe(true)
    await ann.disconnect()
    await daemon.stop()
  })
})

/** In the page: every row from the first to the last, as one sees them while scrolling. */
async function readAll(): Promise<string[]> {
  const frame = () => new Promise(requestAnimationFrame)
  const list = document.querySelector('.messages') as HTMLElement
  const rows = new Map<number, string>()
  /** A busy machine draws late: then what stands there is still from before the scrolling. */
  const isDrawn = (): boolean => {
    const { top } = list.getBoundingClientRect()
    const places = [...document.querySelectorAll('.row')].map((row) => row.getBoundingClientRect())
    return places.some((place) => place.top <= top + 20 && place.bottom >= top)
  }
  for (list.scrollTop = 0; ; list.scrollTop += list.clientHeight / 2) {
    // What was scrolled is drawn with the next frame, and the one after it shows what had to be loaded.
    do await frame()
    while ((await frame()) && (!isDrawn() || document.querySelector('.message.is-loading')))
    for (const row of document.querySelectorAll<HTMLElement>('.row')) {
      const texts = [...row.querySelectorAll('.message .text')].map((text) => text.textContent ?? '')
      rows.set(Number(row.dataset.index), texts.join(' / '))
    }
    if (list.scrollTop + list.clientHeight >= list.scrollHeight - 2) break
  }
  return [...rows].sort(([a], [b]) => a - b).map(([, text]) => text)
}
