// Fills two workspaces with something of all that a build can do; what it cannot do yet is left out. See make.mjs.

const unicode = 'Grüße über alles 🦆 שלום 漢字 "quoted" \\ back\tslash\nline two \u200d'

export async function fill(world) {
  const made = {}
  for (const name of ['app', 'second']) {
    if (name !== 'app') world.relay('workspace', 'create', name)
    const key = world.keyOf(name)
    const auditor = await world.enter(name, 'auditor', { agentType: 'human', key })
    made[name] = { key, agents: ['ada', 'bob', 'cy', name === 'app' ? 'Dora' : 'gone'] }
    await auditor.disconnect()
  }
  await fillSecond(world, made.second)
  await fillApp(world, made.app)
  return made
}

async function fillSecond({ enter, relay, has }, { key }) {
  const [ada, bob, cy, gone] = await Promise.all(['ada', 'bob', 'cy', 'gone'].map((name) => enter('second', name)))
  for (let i = 0; i < 30; i++) await ada.send('bob', `second ${i} über`)
  for (let more = 1; more > 0; ) ({ more } = await bob.getInbox({ limit: 50 }))
  await bob.send('ada', 'all read')
  await cy.send('*', 'to all of second')
  await gone.send('ada', 'the last of gone')
  for (const each of [ada, bob, cy, gone]) await each.disconnect()
  const holder = await enter('second', 'auditor2', { agentType: 'human', key })
  await holder.call('workspace.set-policy', { writers: ['app'] })
  await holder.disconnect()
  if (has('workspace.prune')) relay('workspace', 'prune', 'second', '--older', '0s', '--yes')
}

async function fillApp(world, { key }) {
  const { enter, pause } = world
  const ada = await enter('app', 'ada', {
    cli: 'claude',
    model: 'opus',
    role: 'lead',
    key,
    handle: 'ada-1',
    channels: ['#build'],
  })
  const bob = await enter('app', 'bob', { cli: 'codex', channels: ['#build', '#quiet'] })
  const cy = await enter('app', 'cy', { parent: 'ada' })
  const gone = await enter('app', 'gone')
  const human = await enter('app', 'Dora', { agentType: 'human', key })
  await talk({ ada, bob, cy, gone })
  await act({ ada, bob, cy })
  await runAll({ ada, bob })
  await work(world, { ada, bob, cy, human })
  await hire(world, { ada, human })
  await human.call('workspace.set-policy', { terminal: { bob: ['*'] }, writers: '*' })
  await gone.disconnect()
  await human.call('agent.revoke', { name: 'gone' })
  if (world.has('agent.retire')) await human.call('agent.retire', { name: 'gone' })
  // What is on its way when the daemon ends.
  void bob.call('action.invoke', { name: 'slow', input: { n: 7 } }).catch(() => {})
  await pause(300)
  for (const each of [ada, bob, cy, human]) each.on('error', () => {})
}

async function talk({ ada, bob, cy, gone }) {
  await cy.call('channel.join', { channel: 'build' })
  const first = await ada.send('#build', `first in build ${unicode}`)
  await bob.call('message.react', { message: first.id, emoji: '🎉' })
  await cy.call('message.react', { message: first.id, emoji: '👍' })
  await cy.call('message.react', { message: first.id, emoji: '👍', remove: true })
  await cy.call('channel.leave', { channel: 'build' })
  await ada.send('#build', 'while cy is away')
  await cy.call('channel.join', { channel: 'build' })
  await ada.call('channel.create', { channel: '#empty' })
  const asked = await ada.send('bob', 'Why über?', { kind: 'question', thread: 'thread ü' })
  const open = await ada.send('cy', 'A question that stays open?', { kind: 'question' })
  // A page taken; its messages count as read at the next call.
  await bob.getInbox({ limit: 10 })
  const answer = await bob.send('ada', 'Because über.', { replyTo: asked.id, thread: 'thread ü' })
  await ada.markRead(answer.id)
  for (let i = 0; i < 25; i++)
    await ada.send('#build', `build ${i} ${'words '.repeat(i)}`, { kind: i % 5 ? 'free' : 'status' })
  await ada.send(['bob', 'cy'], 'to a group of two, über')
  await cy.send('*', `to everybody ${unicode}`)
  await ada.send('gone', 'nobody will read this')
  await gone.send('ada', 'from one who goes')
  await bob.send('#quiet', 'heard by nobody', { kind: 'directive' })
  await ada.send('second:bob', 'from another workspace, über')
  const inbox = await cy.call('inbox.peek', { limit: 50 })
  const ids = inbox.messages.map(({ id }) => id).filter((id) => id !== open.id)
  await cy.call('inbox.offer', { messages: ids.slice(0, 2), route: 'push' })
  await cy.call('inbox.offer', { messages: ids.slice(2, 4), route: 'paste' })
  await cy.call('inbox.read', { messages: ids.slice(1, 3) })
  await bob.call('inbox.take', { limit: 3 })
  await bob.call('inbox.count', {})
}

async function act({ ada, bob, cy }) {
  const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
  const offer = (name, more) =>
    ada.call('action.register', { name, description: `${name} über`, inputSchema: schema, ...more })
  await offer('double', { outputSchema: { type: 'object' } })
  await offer('failing', { availableTo: ['bob'], timeoutMs: 5_000 })
  await offer('slow', { timeoutMs: 600_000 })
  await offer('withdrawn', {})
  ada.follow('action.follow', ({ id, invocation = id, action, name = action, input }) => {
    if (name === 'double') void ada.call('action.answer', { invocation, output: { n: input.n * 2, text: 'über' } })
    if (name === 'failing')
      void ada.call('action.answer', { invocation, error: { code: 'handler_failed', message: 'no ü' } })
  })
  await ada.call('workspace.status', {})
  console.log(JSON.stringify(await bob.call('action.invoke', { name: 'double', input: { n: 21 } })))
  console.log(JSON.stringify(await bob.call('action.invoke', { name: 'failing', input: { n: 1 } })))
  console.log(JSON.stringify(await cy.call('action.invoke', { name: 'double', input: { no: 1 } })))
  await ada.call('action.withdraw', { name: 'withdrawn' })
}

async function runAll({ ada, bob }) {
  const start = (contract) => ada.call('run.start', { contract, harness: 'external', agent: 'bob' })
  const done = await start(`Do it, über.\n${unicode}`)
  await bob.call('run.complete', {
    run: done.id,
    summary: 'did it, über',
    payload: JSON.stringify({ files: ['ü.txt'], n: 1 }),
  })
  const stopped = await start('to be stopped')
  await ada.call('run.stop', { run: stopped.id, reason: 'no need, über' })
  await start('stays open')
}

async function work({ has, project }, { ada, bob, cy, human }) {
  if (has('claim.add')) {
    await ada.call('claim.add', { cwd: project, files: ['a.txt', 'ü.txt'] })
    await bob.call('claim.edit', { cwd: project, files: ['b.txt'] })
    await cy.call('claim.edit', { cwd: project, files: ['a.txt'] })
    await ada.call('claim.drop', { cwd: project, files: ['ü.txt'] })
  }
  if (has('approval.ask')) {
    const choices = [
      { id: 'yes', label: 'Yes', kind: 'allow' },
      { id: 'no', label: 'No', kind: 'deny' },
    ]
    const ask = (agent, key, more) =>
      agent.call('approval.ask', {
        key,
        vendor: 'claude',
        tool: 'Bash',
        input: `rm -r ${key} über`,
        directory: project,
        choices,
        ...more,
      })
    const settled = ask(ada, 'settled')
    await bob.call('workspace.status', {})
    await ada.call('approval.settle', { key: 'settled', how: 'terminal', kind: 'allow' })
    await settled
    const given = ask(bob, 'given up')
    await bob.call('approval.settle', { key: 'given up', how: 'timeout' })
    await given
    void ask(bob, 'stays open').catch(() => {})
  }
  if (has('notice.ask')) {
    await ada.call('notice.ask', { agent: 'cy', when: 'answered' })
    await bob.call('notice.ask', { agent: 'ada', when: 'ended' })
  }
  if (has('need.dismiss')) {
    const asked = await cy.send('Dora', 'A person is asked über this?', { kind: 'question' })
    await cy.send('Dora', 'and told this')
    const { needs } = await human.call('need.list', {})
    console.log('needs', JSON.stringify(needs.map(({ key }) => key)), asked.id)
    if (needs[0])
      await human.call('need.dismiss', { key: needs.find(({ key }) => /question/.test(key))?.key ?? needs[0].key })
  }
}

async function hire({ pause }, { ada, human }) {
  const spawn = (name, text) =>
    ada.call('worker.spawn', { name, cli: 'plain', command: ['sh', '-c', text], task: `a task for ${name}, über` })
  await spawn('Done', 'echo "done über"; sleep 3; exit 3')
  await spawn('Released', 'echo released; sleep 600')
  await spawn('Running', 'echo "runs über"; sleep 600')
  await ada.send('Running', 'mail for a worker')
  await ada.call('worker.release', { name: 'Released', reason: 'no more work' })
  for (;;) {
    const { workers } = await human.call('worker.list', { all: true })
    if (workers.find(({ name }) => name === 'Done').status === 'exited') return
    await pause(100)
  }
}
