// Any program without MCP: nothing is injected, messages are typed, and a quiet screen is all that tells its state.

import { ctrlC, type Harness } from './harness.ts'

interface Known {
  program: string
  install: string
  /** What makes it a conversation. */
  args?: readonly string[]
}

export const plain = plainHarness('plain')
export const goose = plainHarness('goose', {
  program: 'goose',
  install: 'brew install block-goose-cli',
  args: ['session'],
})
export const aider = plainHarness('aider', { program: 'aider', install: 'python -m pip install aider-chat' })

/** Without `known` the command is the user's. */
function plainHarness(name: string, known?: Known): Harness {
  return {
    name,
    program: known?.program,
    install: known?.install ?? '',
    hasMcp: false,
    typing: { enterDelayMs: 100 },
    exitKeys: [ctrlC, ctrlC],
    toolPrefix: '',
    bringsOwnMcp: () => false,
    read: () => undefined,
    launch: ({ args }) => ({ args: [...(known?.args ?? []), ...args], env: {} }),
  }
}
