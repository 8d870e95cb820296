// The child process of path-probe.ts: answers questions about paths one after another, and ends when its IPC channel closes.

import { answerPathQuestion, type PathQuestion } from './checkout.ts'

try {
  // With /proc/self as working directory, a path through `/proc/self/cwd` leads into /proc/self, and is recognised by that: see `isUnclear` in checkout.ts.
  process.chdir('/proc/self')
} catch {
  // A system without /proc has no paths through `/proc/self/cwd`.
}
process.on('message', (question: PathQuestion) => {
  process.send?.({ looked: answerPathQuestion(question) })
})
process.send?.({ isReady: true })
