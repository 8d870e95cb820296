// The process of a lookout: it answers one question after the other, and ends when nobody asks any more. See lookout.ts.

import { look, type Question } from './checkout.ts'

process.on('message', (question: Question) => {
  process.send?.({ looked: look(question) })
})
process.send?.({ isReady: true })
