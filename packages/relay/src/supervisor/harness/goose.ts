// Goose: a program without MCP, in a session.

import { cliTableFields, type Harness } from './harness.ts'
import { typedHarnessFields } from './plain.ts'

export const gooseHarness: Harness = {
  ...typedHarnessFields(['session']),
  ...cliTableFields('goose'),
  install: 'brew install block-goose-cli',
  variables: ['GOOSE_PROVIDER', 'GOOSE_MODEL'],
}
