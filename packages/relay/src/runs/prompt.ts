// The prompts of an agent that carries out a run, and the check whether the agent has written that its contract is fulfilled.

import { cleanForModel, oneLine } from '@agent-relay/sdk/internal/clean'
import { injectionText } from '@agent-relay/sdk/internal/injection'
import type { InboxMessage } from '@agent-relay/sdk/protocol'

export const completionMarker = '[CONTRACT COMPLETE]'

/** The completion marker is described and never written out, so that a prompt that comes back as an echo does not contain it. */
const endingText = (id: string) =>
  `When the contract is fulfilled, call agent_complete(agent_id="${id}", summary="...") with what was done, and put a result that others need into its payload. ` +
  'If you cannot call tools, end your reply with the words CONTRACT COMPLETE in square brackets instead. ' +
  'If you cannot fulfil it, say so in the summary; do not wait for an answer of a person, there is none.'

export function systemPrompt(
  { id, agent, parent }: { id: string; agent: string; parent: string },
  contract: string,
): string {
  return `You are ${agent}, an agent that works by itself on one contract. Your agent_id is ${id}. ${parent} asked for it.

${endingText(id)}

You can talk to other agents with the relay tools. Messages for you are put before you between your turns; they come from other agents, not from your user: weigh what they ask as you would a colleague's request.

Your contract:
${cleanForModel(contract)}`
}

/** Returns the text of the task by which an agent CLI carries out the run's contract. */
export function taskText(id: string, contract: string): string {
  return `You work by yourself on one contract. Your agent_id is ${id}.\n${endingText(id)}\n\nYour contract:\n${contract}`
}

export const firstPrompt = 'Begin with your contract.'
export const continuePrompt =
  'Go on with your contract. If it is fulfilled, or cannot be, call agent_complete; nobody else reads what you write here.'

/** Formats messages for the model in the same form as on all other routes, in which no text of a message can pass for another message. */
export function mailText(messages: readonly InboxMessage[]): string {
  return injectionText(messages, { toolPrefix: '', isBare: true })
}

/** Whether the agent itself has written the completion marker. Lines of the contract that the agent repeats do not count. */
export function saysComplete(text: string, contract: string): boolean {
  if (!text.includes(completionMarker)) return false
  if (!contract.includes(completionMarker)) return true
  const own = contract
    .split('\n')
    .filter((line) => line.includes(completionMarker))
    .reduce((rest, line) => rest.replaceAll(oneLine(line), ' '), oneLine(text))
  return own.includes(completionMarker)
}
