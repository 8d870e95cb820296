// The harness of Goose, a program without MCP, which the argument `session` starts as a conversation.

import { cliTableFields, type Harness } from './harness.ts'
import { typedHarnessFields } from './plain.ts'

export const gooseHarness: Harness = {
  ...typedHarnessFields(['session']),
  ...cliTableFields('goose'),
  install: 'brew install block-goose-cli',
  variables: ['GOOSE_PROVIDER', 'GOOSE_MODEL'],
}
