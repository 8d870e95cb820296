// The questions whose answers are all that a workspace holds. The build that has written a fixture was asked them when it was made; later builds must
// answer the same.

/** One page has at most this many items. */
const limit = 100

/** `call`: an operation of a person with the workspace's key; undefined if the build does not have it. */
export async function askAll(call, agentsAsked) {
  const conversations = (await call('conversation.list', { limit })).conversations
  const names = conversations.map(({ name }) => name).toSorted()
  const messages = {}
  for (const conversation of names) messages[conversation] = await messagesOf(call, conversation)
  const ids = Object.values(messages).flatMap((all) => all.map(({ id }) => id))
  const { agents } = await call('agent.list', { includeIdle: true, includeOffline: true })
  const { workers } = await call('worker.list', { all: true })
  const { runs } = await call('run.list', { limit })
  const threads = [...new Set(Object.values(messages).flatMap((all) => all.flatMap(({ thread }) => thread ?? [])))]
  const each = async (keys, op, input) => {
    const found = {}
    for (const key of keys) found[key] = await call(op, input(key))
    return found
  }
  return {
    agents: sorted(agents, 'name'),
    channels: sorted((await call('channel.list', {})).channels, 'name'),
    conversations: sorted(conversations, 'name'),
    messages,
    receipts: await each(ids, 'message.receipts', (message) => ({ message })),
    inboxes: await each(agentsAsked, 'agent.mail', (agent) => ({ agent, box: 'inbox', limit })),
    sent: await each(agentsAsked, 'agent.mail', (agent) => ({ agent, box: 'sent', limit })),
    threads: await each(threads, 'message.thread', (thread) => ({ thread, limit })),
    found: await foundOf(call, 'über'),
    policy: await call('workspace.policy', {}),
    workers: sorted(workers, 'id'),
    runs: sorted(runs, 'id'),
    contracts: await each(
      runs.map(({ id }) => id),
      'run.contract',
      (run) => ({ run }),
    ),
    payloads: await each(
      runs.filter(({ payloadSize }) => payloadSize).map(({ id }) => id),
      'run.payload',
      (run) => ({ run }),
    ),
    claims: await call('claim.list', {}),
    approvals: await call('approval.list', {}),
    spend: await call('spend.list', {}),
    needs: await call('need.list', { limit }),
    events: await eventsOf(call),
  }
}

async function messagesOf(call, conversation) {
  const all = []
  for (let after = 0; ; ) {
    const { messages } = await call('message.list', { conversation, after, limit })
    all.push(...messages)
    if (messages.length < limit) return all
    after = messages.at(-1).n
  }
}

/** A search says where it stopped when it took too long. */
async function foundOf(call, text) {
  const all = []
  for (let before; ; ) {
    const { messages, next } = await call('message.search', { text, limit, before })
    all.push(...messages)
    if (next === undefined) return all
    before = next
  }
}

async function eventsOf(call) {
  const all = []
  for (let since = 0; ; ) {
    const { events, next } = await call('event.list', { since, limit })
    all.push(...events)
    if (events.length === 0) return all
    since = next
  }
}

const sorted = (all, field) => all.toSorted((a, b) => (a[field] < b[field] ? -1 : 1))
