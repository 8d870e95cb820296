// The choices that most CLIs offer for a permission, for tests that ask for one. No tests.

import type { ApprovalChoice } from '@agent-relay/sdk/protocol'

export const permissionChoices: readonly ApprovalChoice[] = [
  { id: 'allow', kind: 'allow' },
  { id: 'always', kind: 'always' },
  { id: 'deny', kind: 'deny' },
]
