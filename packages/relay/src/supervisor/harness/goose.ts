// Goose: a program without MCP, in a session.

import { type Harness, known } from './harness.ts'
import { typed } from './plain.ts'

export const goose: Harness = {
  ...typed(['session']),
  ...known('goose'),
  install: 'brew install block-goose-cli',
  variables: ['GOOSE_PROVIDER', 'GOOSE_MODEL'],
}
