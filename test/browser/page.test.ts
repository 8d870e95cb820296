// The page for a person: agents' messages appear, the person's actions reach agents, and the journal plays again in its order.

import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { completes, inTurn } from '../../packages/relay/tests/runs/runs-world.ts'
import { textOf } from '../../packages/relay/tests/wires/http-world.ts'
import { ModelServer } from '../bench/model-server.ts'
import { guardMs } from '../guard.ts'
import { until } from '../until.ts'
import { found, inChromium } from './chromium.ts'
import { PageWorld } from './page-world.ts'

describe.skipIf(found.path === undefined)(`the page, ${inChromium}`, () => {
  let world: PageWorld
  let model: ModelServer
  beforeAll(async () => {
    model = await ModelServer.start()
    world = await PageWorld.start({ env: model.env() })
  })
  afterAll(async () => {
    await world?.stop()
    await model?.close()
  })

  it('loads at first no more than 250 KB, compressed', async () => {
    const context = await world.browser.newContext()
    const page = await context.newPage()
    const session = await context.newCDPSession(page)
    await session.send('Network.enable')
    let bytes = 0
    session.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength
    })
    await page.goto(await world.link(), { waitUntil: 'networkidle', timeout: guardMs })
    await page.locator('.view-now').waitFor()
    expect(bytes).toBeLessThanOrEqual(250 * 1024)
    expect(bytes).toBeGreaterThan(0)
    await context.close()
  })

  it('shows what an MCP client says, and brings the answer into its inbox, with receipts that move', async () => {
    const { page, http, me } = world
    const mcp = await http.client('2025', { ...http.as('Mia') })
    expect(await textOf(mcp, 'relay_send', { to: me, message: 'May I delete the old migration?' })).toContain('sent')
    await page.getByText('May I delete the old migration?').first().waitFor()
    await until(async () => (await page.title()).startsWith('(1) '))
    await page.locator('.need', { hasText: 'Mia' }).getByRole('link', { name: 'Open', exact: true }).click()
    const field = page.getByLabel('Message', { exact: true })
    await field.fill('Yes, with the test.')
    await field.press('Enter')
    const mine = page.locator('.message', { hasText: 'Yes, with the test.' })
    await mine.locator('.fate.stored').waitFor()
    expect(await textOf(mcp, 'relay_inbox')).toContain('Yes, with the test.')
    await mine.locator('.fate.offered').waitFor()
    // Its next call says that the model has come back: read.
    await textOf(mcp, 'relay_who')
    await mine.locator('.fate.read').waitFor()
    await mine.locator('.fate').click()
    expect(await mine.locator('.receipts').textContent()).toMatch(/Mia[\d:]{8}[\d:]{8} tool[\d:]{8}$/)
    await until(async () => !(await page.title()).startsWith('('))
  })

  it('reacts, answers in a thread, and lands on what was searched for', async () => {
    const { page, me } = world
    const bob = await world.agent('Bob', { channels: ['#build'] })
    await world.show('talk')
    await page.getByLabel('Open a conversation').fill('#build')
    await page.keyboard.press('Enter')
    for (let i = 0; i < 150; i++)
      await bob.messages.send('#build', `step ${i}: ${i === 20 ? 'the needle lies here' : 'hay'}`)
    await page.getByText('step 149: hay', { exact: true }).waitFor()
    const last = page.locator('.message', { hasText: 'step 149' })
    await last.hover()
    await last.getByLabel('React', { exact: true }).click()
    await last.getByLabel('React with 👍').click()
    await last.locator('.reaction', { hasText: '👍' }).waitFor()
    await last.hover()
    await last.getByLabel('Reply').click()
    await page.getByLabel('Message', { exact: true }).fill('Then stop here.')
    await page.keyboard.press('Enter')
    await page.locator('.message', { hasText: 'Then stop here.' }).getByText('step 149').waitFor()
    const { messages } = await bob.client.call('inbox.peek', {})
    expect(messages.at(-1)).toMatchObject({ from: me, body: 'Then stop here.', channel: '#build' })
    await page.locator('body').click()
    await page.keyboard.press('Escape')
    await page.keyboard.press('/')
    await page.getByLabel('Search all messages').fill('needle')
    await page
      .locator('.result mark', { hasText: /^needle$/ })
      .first()
      .waitFor()
    await page.keyboard.press('Enter')
    await page.locator('.message.is-marked', { hasText: 'step 20' }).waitFor()
    expect(await page.locator('.message.is-marked').isVisible()).toBe(true)
    expect(await page.getByRole('dialog').count()).toBe(0)
    await page.getByLabel('Message', { exact: true }).fill('Found.')
    await page.getByLabel('Message', { exact: true }).press('Enter')
    await page.locator('.message', { hasText: 'Found.' }).waitFor()
    // Where all is seen, nothing is news.
    const { id } = await bob.client.send(me, 'One.')
    await world.show('talk', `@${[me, 'Bob'].sort().join(',')}`, id)
    await page.locator('.message.is-marked', { hasText: 'One.' }).waitFor()
    await bob.client.send(me, 'Two.')
    await page.locator('.message', { hasText: 'Two.' }).waitFor()
    expect(await page.locator('.to-end').count()).toBe(0)
  })

  it('shows who waits for whom, and who works for whom', async () => {
    const { page } = world
    const lead = await world.agent('Lead', { cli: 'claude', model: 'opus' })
    const helper = await world.agent('Helper', { parent: 'Lead' })
    const asking = helper.client.sendAndWait('Lead', 'Which branch?', { timeoutMs: guardMs })
    await world.show('now')
    await page.getByText(/waiting for Lead/).waitFor()
    await page.getByLabel('Helper waits for Lead').waitFor()
    expect(await page.locator('.agent-row.depth-1', { hasText: 'Helper' }).count()).toBe(1)
    await lead.messages.send('Helper', 'main')
    await asking
    await page.getByText(/waiting for Lead/).waitFor({ state: 'detached' })
    await lead.close()
    await page.locator('.agent-row.depth-0', { hasText: 'Lead' }).getByText('offline').waitFor()
    const names = await page.locator('.agent-row b').allTextContents()
    expect(names[names.indexOf('Lead') + 1]).toBe('Helper')
  })

  it("runs a worker's terminal: live, and by keyboard only after the switch", async () => {
    const { page } = world
    await world.show('agent')
    await page.getByRole('link', { name: 'Spawn' }).click()
    await page.getByLabel('Name').fill('Echo')
    await page.getByLabel('CLI').selectOption('plain')
    const script =
      'process.stdin.on(`data`, d => console.log(`heard ` + d)); console.log(`\\x1b[38;2;200;30;30mready to hear\\x1b[0m`)'
    await page.getByLabel('Command').fill(`"${process.execPath}" -e '${script}'`)
    await page.getByLabel('Directory').fill(tmpdir())
    await page.getByRole('button', { name: 'Spawn' }).click()
    const screen = page.locator('.xterm-rows')
    await screen.getByText('ready to hear').waitFor()
    // The policy forbids styles in attributes: the colour is there all the same.
    const colour = await screen.getByText('ready to hear').evaluate((element) => getComputedStyle(element).color)
    expect(colour).not.toBe(await screen.evaluate((element) => getComputedStyle(element).color))
    await page.locator('.xterm-screen').click()
    await page.keyboard.type('not this')
    await page.getByRole('switch').click()
    await page.keyboard.type('this line')
    await page.keyboard.press('Enter')
    await screen.getByText('heard this line').waitFor()
    expect(await screen.textContent()).not.toContain('not this')
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.getByRole('button', { name: 'Pause' }).waitFor()
    await page.reload()
    await page.locator('.xterm-rows').getByText('heard this line').waitFor()
    await page.getByRole('button', { name: 'Release' }).click()
    await page.getByRole('button', { name: 'Really release?' }).click()
    await page.getByText('Its program has ended').waitFor()
  })

  it('starts a run, watches it, and reads its payload', async () => {
    const { page } = world
    const doer = await world.agent('Doer')
    await world.show('runs')
    await page.getByRole('link', { name: 'Start', exact: true }).click()
    await page.getByLabel('Contract').fill('Count the open TODOs.')
    await page.getByLabel('Carried out by').selectOption('external')
    await page.locator('select[name=agent]').selectOption('Doer')
    await page.getByRole('button', { name: 'Start' }).click()
    const main = page.locator('.split-main')
    await main.getByText('Count the open TODOs.').first().waitFor()
    await page.locator('.pick', { hasText: 'Count the open TODOs.' }).waitFor()
    await main.getByText('running').waitFor()
    const { runs } = await doer.client.call('run.list', {})
    const payload = JSON.stringify({ todos: ['<b>one</b>', 'two'] })
    await doer.client.call('run.complete', { run: runs[0]?.id ?? '', summary: 'Two are open.', payload })
    await main.getByText('Two are open.').waitFor()
    await main.getByRole('button', { name: 'Show' }).click()
    await main.getByText('"<b>one</b>"').waitFor()
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      main.getByRole('button', { name: 'Download' }).click(),
    ])
    expect(file.suggestedFilename()).toMatch(/^run_.*\.json$/)
    await world.show('agent', 'Doer', 'contract')
    await page.getByText('Two are open.').waitFor()
  })

  it('watches a run of the built-in loop, and stops one', async () => {
    const { page } = world
    let goOn = (): void => {}
    const held = new Promise<void>((resolve) => {
      goOn = resolve
    })
    model.script(
      inTurn(
        () => ({ text: 'Looking through the files. ', calls: [{ name: 'relay_who', args: {} }] }),
        completes('Three are open.', 'the list'),
      ),
    )
    const first = model.asked
    const start = async (contract: string): Promise<void> => {
      await world.show('runs')
      await page.getByRole('link', { name: 'Start', exact: true }).click()
      await page.getByLabel('Contract').fill(contract)
      await page.getByRole('button', { name: 'Start' }).click()
    }
    await start('Count what is left.')
    const main = page.locator('.split-main')
    await main.getByText('Three are open.').waitFor()
    expect(first[0]?.system).toContain('Count what is left.')
    model.script(async () => {
      await held
      return { text: 'late' }
    })
    await start('Never end.')
    await main.getByText('running').waitFor()
    await main.getByRole('button', { name: 'Stop' }).click()
    await main.locator('.note').getByText('stopped on the page').waitFor()
    goOn()
  })

  it('calls an action by the form that its schema makes', async () => {
    const { page } = world
    const provider = await world.agent('Adder')
    await provider.actions.register({
      name: 'math.add',
      description: 'Adds two numbers.',
      inputSchema: z.object({
        a: z.number(),
        b: z.number(),
        note: z.string().optional(),
        as: z.enum(['number', 'text']),
      }),
      handler: ({ a, b, as }) => (as === 'text' ? `${a + b}` : { sum: a + b }),
    })
    await world.show('actions')
    await page.getByRole('link', { name: 'math.add' }).click()
    await page.getByLabel('a number').fill('2')
    await page.getByLabel('b number').fill('3')
    await page.getByLabel('as string').selectOption('number')
    await page.getByRole('button', { name: 'Call' }).click()
    await page.locator('.result-box').getByText('"sum": 5').waitFor()
    const call = page.locator('.audit tbody tr')
    await call.getByText('done').waitFor()
    expect(await call.allTextContents()).toEqual([expect.stringMatching(/^[\d:]{8}humandone[\d,]+ ms\d+ B \/ 9 B$/)])
  })

  it('plays the journal again: the same messages in the same order', async () => {
    const { page, http } = world
    const { body } = await http.api('event.list', { types: ['message.created'], limit: 1_000 })
    const stored = (body.events as { seq: number }[]).map(({ seq }) => seq)
    await page.evaluate((first) => {
      location.hash = `#/recorder/${first}?types=message.*`
    }, stored[0])
    await page.locator('.event[aria-current]').waitFor()
    await page.getByLabel('Speed').selectOption('64')
    const played = page.evaluate(
      (count) =>
        new Promise<number[]>((resolve) => {
          const seen: number[] = []
          const watch = new MutationObserver((changes) => {
            for (const { target } of changes) {
              const { seq } = (target as HTMLElement).dataset
              if ((target as HTMLElement).hasAttribute('aria-current') && seen.at(-1) !== Number(seq))
                seen.push(Number(seq))
            }
            if (seen.length < count - 1) return
            watch.disconnect()
            resolve(seen)
          })
          watch.observe(document.body, { subtree: true, attributeFilter: ['aria-current'] })
        }),
      stored.length,
    )
    await page.keyboard.press(' ')
    expect(await played).toEqual(stored.slice(1))
    const answer = page.locator('.event', { hasText: 'Yes, with the test.' })
    await answer.click()
    const closely = page.locator('.closely')
    await closely.getByRole('link', { name: 'read by Mia' }).waitFor()
    expect(page.url()).toMatch(/#\/recorder\/\d+/)
    await world.show('recorder', '1')
    await page.locator('.event[data-type="workspace.began"]').waitFor()
    expect(await page.locator('.event bdi').allTextContents()).not.toContain('')
    await world.show('recorder')
    await page.reload()
    await page.locator('.events li:last-child .event[aria-current]').waitFor()
  })

  it('is led by the keyboard', async () => {
    const { page } = world
    await world.show('now')
    await page.locator('.view-now').focus()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    for (const [key, view] of [
      ['t', 'talk'],
      ['a', 'agent'],
      ['r', 'runs'],
      ['c', 'actions'],
      ['f', 'recorder'],
      ['n', 'now'],
    ]) {
      await page.keyboard.press('g')
      await page.keyboard.press(key as string)
      await page.locator(`.view-${view}`).waitFor()
    }
    await page.keyboard.press('j')
    expect(await page.evaluate(() => document.activeElement?.hasAttribute('data-item'))).toBe(true)
    await page.evaluate(() => {
      location.hash = '#/nosuch'
    })
    await page.getByText('There is nothing at this address').waitFor()
  })

  it('had nothing to complain about', () => {
    expect(world.complaints).toEqual([])
  })
})
