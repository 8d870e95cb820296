// A workspace for tests that throws its background errors. No tests.

function thrown(error: Error): never {
  throw error
}

export const loud = { onFatal: thrown, onTrouble: thrown }
