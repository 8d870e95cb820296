// A workspace in a test is loud: what goes wrong in it is thrown. No tests.

function thrown(error: Error): never {
  throw error
}

export const loud = { onFatal: thrown, onTrouble: thrown }
