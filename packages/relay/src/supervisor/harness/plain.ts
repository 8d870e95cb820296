// Any program without MCP: nothing is injected, messages are typed, and its state is known only by a quiet screen.

import { ctrlC, type Harness } from './harness.ts'

/** Returns the harness fields of programs that can only be typed into. `args`: the arguments that make the program a conversation. */
export function typedHarnessFields(args: readonly string[] = []): Omit<Harness, 'name' | 'program' | 'install'> {
  return {
    hasMcp: false,
    typing: { enterDelayMs: 100 },
    exitKeys: [ctrlC, ctrlC],
    toolPrefix: '',
    bringsOwnMcp: () => false,
    readScreenSign: () => undefined,
    launch: (context) => ({ args: [...args, ...context.args], env: {} }),
  }
}

/** The harness of any other program; the user gives the command. */
export const plainHarness: Harness = { name: 'plain', program: undefined, install: '', ...typedHarnessFields() }
