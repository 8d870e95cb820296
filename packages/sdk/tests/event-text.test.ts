// The words of events: each family has one, and the events that people are shown first are those of the work.

import { expect, test } from 'vitest'
import { eventFamilies, familyText, mainEventTypes } from '../src/internal/event-text.ts'

test('what people are shown first has no events of the machinery, and fits into one request', () => {
  const types = mainEventTypes()
  expect(types).toEqual(
    expect.arrayContaining(['message.created', 'worker.changed', 'action.invoked', 'agent.registered']),
  )
  for (const type of ['action.withdrawn', 'action.registered', 'delivery.read', 'session.event', 'channel.joined'])
    expect(types).not.toContain(type)
  expect(types.length).toBeLessThanOrEqual(50)
})

test('every family has a word, and one that only a newer daemon knows has none', () => {
  for (const type of mainEventTypes()) expect(familyText({ type })).toMatch(/^[a-z]+$/)
  expect(Object.values(eventFamilies).every((word) => word.length > 2)).toBe(true)
  for (const type of ['constructor.x', 'strange', ''])
    expect(familyText({ type: type as 'run.started' })).toBeUndefined()
})
