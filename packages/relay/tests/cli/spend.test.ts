// Spend at the command line: by each way to add it up, and beside runs, workers and agents.

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { shellQuote } from '@agent-relay/sdk/internal/command-words'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { ModelServer } from '../../../../test/bench/model-server.ts'
import { until } from '../../../../test/until.ts'
import { completes } from '../runs/runs-world.ts'
import { World } from './cli-world.ts'

const acpAgent = fileURLToPath(new URL('../../../../test/agents/scripted-acp-agent.mjs', import.meta.url))

let model: ModelServer
let world: World
beforeAll(async () => {
  model = await ModelServer.start()
})
afterAll(() => model.close())
beforeEach(async () => {
  world = new World()
  await world.serve(model.env())
})
afterEach(() => world.close())

const printed = async (...args: string[]) => (await world.run(args)).stdout

test('a run of a model, and a worker that tells its cost', async () => {
  expect(await world.run(['spend'])).toMatchObject({ code: 0, stdout: '', stderr: /^No spending is known yet/ })
  expect(await printed('runs')).not.toContain('SPENT')
  model.script((asked) => ({ ...completes('Done.')(asked), tokens: 61_000 }))
  expect(await world.run(['runs', 'start', '--contract', 'Do it.', '--wait'])).toMatchObject({ code: 0 })
  const [run] = (await world.json<{ runs: { id: string; agent: string }[] }>(['runs'])).runs
  expect(await printed('spend')).toMatch(new RegExp(`^AGENT +IN +CACHED +OUT +TURNS\\n${run?.agent} +61k +0 +5 +1\\n$`))
  expect(await printed('runs')).toMatch(/STARTED +SPENT +TASK[\s\S]* 61k tokens +Do it\. +Done\./)
  expect(await printed('runs', 'status', run?.id as string)).toContain('\n  61k tokens\n')
  const told = { usage: { inputTokens: 1_200, outputTokens: 34 }, cost: { amount: 0.31, currency: 'USD' } }
  const command = [process.execPath, acpAgent, '--log', join(world.cwd, 'log')].map(shellQuote).join(' ')
  await world.run(['spawn', 'Adds', '--acp', command, '--task', `spends ${JSON.stringify(told)}`])
  type Spent = { spend: { agent?: string; run?: string; tokens: object; usd?: number }[]; total: object }
  const listed = (by: string) => world.json<Spent>(['spend', '--by', by])
  await until(async () => (await listed('agent')).spend.length === 2)
  expect(await printed('spend')).toMatch(
    /COST\nrun-\w+ +61k +0 +5 +1 +–\nAdds +1\.2k +0 +34 +1 +\$0\.31\nall +62k +0 +39 +2 +\$0\.31\n$/,
  )
  expect(await printed('spend', '--by', 'run')).toMatch(/RUN[\s\S]*run_\w+ \(run-\w+\) +61k[\s\S]*no run +1\.2k/)
  expect(await printed('spend', '--by', 'model')).toMatch(/MODEL[\s\S]*scripted +61k[\s\S]*not known +1\.2k/)
  const total = { tokens: { input: 62_200, output: 39, cached: 0 }, usd: 0.31, turns: 2 }
  expect(await listed('day')).toEqual({
    by: 'day',
    spend: [{ day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/), ...total }],
    total,
  })
  expect(await printed('workers')).toMatch(/SPENT[\s\S]*Adds .*1\.2k tokens, \$0\.31/)
  expect(await printed('who')).toMatch(/SPENT[\s\S]*Adds .*1\.2k tokens, \$0\.31/)
  expect(await printed('events', '--type', 'spend.noted')).toMatch(
    /run-\w+ uses 61k tokens of scripted\n.*Adds uses 1\.2k tokens, \$0\.31\n$/,
  )
  expect(await world.run(['spend', '--by', 'moon'])).toMatchObject({ code: 2 })
})
