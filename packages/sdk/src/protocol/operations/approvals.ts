// Operations on approvals: an agent asks whether it may go on; a person, or an agent to which that right was delegated, answers.

import { z } from 'zod'
import { Approval, ApprovalChoice, approvalHows, Delegation, Question, questionsMax } from '../approvals.ts'
import { limits } from '../limits.ts'
import { Label } from '../words.ts'
import type { OperationTable } from './rule.ts'

/** An id that the caller chooses for an approval; unique within the caller's session. */
const key = Label.min(1)
const text = z.string().refine((each) => !each.includes('\0'), 'must not contain the character U+0000')
const kind = ApprovalChoice.shape.kind

export const approvalOperations = {
  'approval.ask': {
    kind: 'command',
    who: 'agent',
    network: 'key',
    ownSession: true,
    byHook: 'always',
    summary:
      'Ask for an approval, as a hook does for its agent: returns once the approval is closed, whoever has answered or closed it.',
    input: z.object({
      key,
      vendor: Label,
      tool: text.max(limits.approvalWordsCharsMax),
      /** What the agent is about to do, as text. The daemon shortens a long text. */
      input: text.max(limits.approvalWholeCharsMax),
      /** The length of the whole text in characters. Set if the caller has shortened `input`. */
      inputChars: z.number().int().nonnegative().optional(),
      directory: text.max(limits.pathCharsMax).optional(),
      choices: z.array(ApprovalChoice).max(20),
      questions: z.array(Question).min(1).max(questionsMax).optional(),
      /** Whether the agent's CLI gives its model the text that a person adds to a denial. */
      passesWords: z.boolean().optional(),
    }),
    output: z.object({
      how: z.enum(approvalHows),
      choice: z.string().optional(),
      kind: kind.optional(),
      words: z.string().optional(),
      answers: z.array(z.string()).optional(),
    }),
  },
  'approval.settle': {
    kind: 'command',
    who: 'agent',
    network: 'key',
    byHook: 'always',
    summary: 'Say how an approval that this session has asked for has ended: answered at the terminal, or given up.',
    input: z.object({ key, how: z.enum(['terminal', 'timeout', 'cancelled']), kind: kind.optional() }),
    output: z.object({}),
  },
  'approval.list': {
    kind: 'query',
    who: 'anyone',
    network: 'token',
    summary: 'The approvals that are open, oldest first, and the delegations in force.',
    input: z.object({}),
    output: z.object({ approvals: z.array(Approval), delegations: z.array(Delegation) }),
  },
  'approval.show': {
    kind: 'query',
    who: 'anyone',
    network: 'token',
    summary: 'One approval with its whole input, as far as it is kept; a list shortens it.',
    input: z.object({ id: z.string().max(limits.idCharsMax) }),
    output: z.object({ approval: Approval }),
  },
  'approval.answer': {
    kind: 'command',
    who: 'agent',
    network: 'token',
    summary:
      'Answer an approval by one of its choices. Only a person can, on the page or with the CLI on a terminal, or an agent under a delegation.',
    input: z.object({
      id: z.string().max(limits.idCharsMax),
      choice: z.string().max(100),
      /** The digest of the request that the person was shown, which must still be the approval's digest. */
      digest: z.string().max(100),
      /** A text that the person adds for the agent's model. */
      words: text.max(limits.approvalWordsCharsMax).optional(),
      /** The answers to the approval's questions, one for each: the label of an option, several labels separated by commas, or a text of the person's own. */
      answers: z.array(text.min(1).max(limits.approvalWordsCharsMax)).max(questionsMax).optional(),
    }),
    output: z.object({
      agent: z.string(),
      tool: z.string(),
      kind,
      how: z.enum(approvalHows),
      wordsReach: z.boolean(),
      /** How the text that the person added (`words`) reaches the agent's model: with the answer, or, if its CLI cannot do that, as a message. */
      wordsAs: z.enum(['answer', 'message']).optional(),
    }),
  },
} satisfies OperationTable
