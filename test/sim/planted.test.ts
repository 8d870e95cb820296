// The simulator notices when something is wrong: one fault at a time, planted in the database as a trigger, must be found within some seeds.

import { expect, test } from 'vitest'
import { play } from './play.ts'

const seedsMax = 100

/** What happens after a row was written. */
const faults: Record<string, string> = {
  'a message is lost': 'INSERT ON messages WHEN new.seq % 11 = 0 BEGIN DELETE FROM messages WHERE seq = new.seq',
  'a body is changed': "INSERT ON messages BEGIN UPDATE messages SET body = body || '!' WHERE seq = new.seq",
  'a thread is forgotten': 'INSERT ON messages BEGIN UPDATE messages SET thread = NULL WHERE seq = new.seq',
  'a message that was read comes back':
    'UPDATE OF read_at ON receipts BEGIN UPDATE receipts SET read_at = NULL WHERE message = new.message AND agent = new.agent',
  'a hold is forgotten':
    'INSERT ON receipts BEGIN UPDATE receipts SET session = NULL, until = NULL WHERE message = new.message AND agent = new.agent',
  'a hold lasts for ever':
    'INSERT ON receipts WHEN new.until IS NOT NULL BEGIN UPDATE receipts SET until = until * 2 WHERE message = new.message AND agent = new.agent',
  'a cursor passes a message that was not read':
    'UPDATE OF cursor ON members BEGIN UPDATE members SET cursor = cursor + 1 WHERE agent = new.agent AND conversation = new.conversation',
  'somebody who left still gets messages':
    'UPDATE OF left_n ON members BEGIN UPDATE members SET left_n = NULL WHERE agent = new.agent AND conversation = new.conversation',
  'a newcomer gets what was said before':
    'INSERT ON members BEGIN UPDATE members SET joined_n = 0, cursor = 0 WHERE agent = new.agent AND conversation = new.conversation',
  'a command is not remembered': "INSERT ON journal BEGIN UPDATE journal SET cause = cause || '!' WHERE seq = new.seq",
  'an answer is not remembered': "INSERT ON journal BEGIN UPDATE journal SET outcome = '{}' WHERE seq = new.seq",
  'what was asked is not remembered': 'INSERT ON journal BEGIN UPDATE journal SET digest = NULL WHERE seq = new.seq',
  'a fact is not in the journal':
    "INSERT ON journal WHEN new.rule = 'message.react' BEGIN UPDATE journal SET facts = '[]' WHERE seq = new.seq",
  'what was told is told again':
    'DELETE ON notices BEGIN INSERT INTO notices VALUES (old.asker, old.agent, old.occasion, old.message, old.after_n, old.at)',
  'the time of an entry is another': 'INSERT ON journal BEGIN UPDATE journal SET at = at + 1 WHERE seq = new.seq',
}

test.each(Object.keys(faults))('%s', async (name) => {
  const found = async () => {
    for (let seed = 1; seed <= seedsMax; seed++)
      await play(seed, (database) => database.exec(`CREATE TEMP TRIGGER planted AFTER ${faults[name]}; END`))
  }
  await expect(found()).rejects.toThrow(/seed \d+, step/)
})
