// A role's side of the questions: one answer for each, by IPC; the process ends when its parent is gone.

export function serve<Q>(answer: (question: Q) => unknown): void {
  process.on('message', async ({ n, question }: { n: number; question: Q }) => {
    try {
      process.send?.({ n, answer: await answer(question) })
    } catch (error) {
      process.send?.({ n, error: (error as Error).stack ?? String(error) })
    }
  })
  process.on('disconnect', () => process.exit())
}
