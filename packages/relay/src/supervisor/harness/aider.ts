// The harness of Aider, a program without MCP.

import { cliTableFields, type Harness } from './harness.ts'
import { typedHarnessFields } from './plain.ts'

export const aiderHarness: Harness = {
  ...typedHarnessFields(),
  ...cliTableFields('aider'),
  install: 'python -m pip install aider-chat',
}
