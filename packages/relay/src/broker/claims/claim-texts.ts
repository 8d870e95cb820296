// Texts for agents about claimed files: why an edit was denied, and who is editing the file. An agent's CLI shows these texts to the model as its own, but
// strangers may have chosen the names of files and commands: these are cleaned, cut, and quoted unless they are plain.

import { cleanLineForModel } from '@agent-relay/sdk/internal/clean'
import { limits, type Policy } from '@agent-relay/sdk/protocol'
import { utcTimeText } from '../../core/claims.ts'
import type { ClaimRow } from '../../core/view.ts'

/** Maximum number of claims that one text lists. */
export const claimsShownMax = 20
const nameCharactersMax = 120
const commandCharactersMax = 200

export interface ConflictingClaims {
  isDenied: boolean
  /** The git command that would change the files; unset if the edit is no git command. */
  git?: string
  /** Whether the claims are on the same files in another checkout of the repository, not in the checkout of the edit. */
  isElsewhere?: boolean
  isLate?: boolean
  policy: Policy['claims']
}

/**
 * Returns the text for an agent whose edit touches files that others have claimed. It replaces the tool's answer if the edit was denied, and goes beside it
 * otherwise.
 */
export function editAnswerText(by: string, claims: readonly ClaimRow[], how: ConflictingClaims): string {
  if (!how.isDenied) return claimNoticeText(by, claims, 'agent', how)
  const ask = askText(claims)
  if (how.git === undefined)
    return `${claimsText(claims)}. Your edit was not made. ${ask} The claim ends when they commit the file, or ${limits.claimMs / 60_000} minutes after their last edit.`
  const next =
    how.policy === 'strict' ? ask : `${ask} If you are sure, give the same command again: it will go through.`
  return `${quotedCommand(how.git)} would touch files that others are editing in this checkout: ${claimsText(claims)}. It was not run. Name your own files instead. ${next}`
}

/** Returns the text for a denied edit that has no claim to show: nobody can say which file the path means, or the other agent has released the file since. */
export function deniedWithoutClaimText(unclear: string | undefined): string {
  if (unclear === undefined) return 'Another agent was editing it a moment ago. Try again.'
  return `${quotedFile(unclear)} names another file for each process that opens it, so nobody can say whether that file is claimed. Your edit was not made. Name the file by its plain path.`
}

/** Returns the message about an edit of claimed files, for the claims' holder or for the agent that edits (`to`). */
export function claimNoticeText(
  by: string,
  claims: readonly ClaimRow[],
  to: 'holder' | 'agent',
  how: ConflictingClaims,
): string {
  const files = fileNamesText(claims)
  const what = how.git === undefined ? `edit ${files}` : `run ${quotedCommand(how.git)}`
  if (to === 'holder') {
    const drop = 'If you are done with it, commit it or run: agent-relay claims drop FILE'
    if (how.isDenied) return `${by} wanted to ${what}, while you are editing ${files}. It was denied. ${drop}`
    if (how.isElsewhere)
      return `${by} edits ${files} too, in another checkout of the repository: the changes will meet when they are merged.`
    const did = how.git === undefined ? `has edited ${files}` : `has run ${quotedCommand(how.git)}`
    return `${by} ${did}, while you are editing ${files}${how.isLate ? '; the relay was asked too late to deny it' : ''}. Check your work.`
  }
  if (how.isElsewhere)
    return `${claimsText(claims)}, in another checkout of the repository: your changes will meet when they are merged. ${askText(claims)}`
  const late = how.isLate ? ' The relay could not tell you in time.' : ''
  return `${claimsText(claims)}.${late} Check that nothing of theirs is lost. ${askText(claims)}`
}

/** Returns a text such as `Alice is editing src/a.ts (since 12:04 UTC)`, grouped by holder. */
function claimsText(claims: readonly ClaimRow[]): string {
  const named = claims.slice(0, claimsShownMax)
  const holders = [...new Set(named.map(({ agent }) => agent))]
  const parts = holders.map((holder) => {
    const theirs = named.filter(({ agent }) => agent === holder)
    const since = utcTimeText(Math.min(...theirs.map((claim) => claim.since)))
    return `${holder} is editing ${fileNamesText(theirs)} (since ${since})`
  })
  const more = claims.length - named.length
  return `${parts.join('; ')}${more > 0 ? `; and ${more} more files` : ''}`
}

function fileNamesText(claims: readonly ClaimRow[]): string {
  const shown = claims.slice(0, claimsShownMax).map(({ file }) => quotedFile(file))
  const more = claims.length - shown.length
  return `${[...new Set(shown)].join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

function quotedFile(file: string): string {
  const text = cleanLineForModel(file)
  const cut = text.length > nameCharactersMax ? `${text.slice(0, nameCharactersMax)}…` : text
  return /^[\w./@+-]+$/.test(cut) ? cut : JSON.stringify(cut)
}

function quotedCommand(command: string): string {
  return `\`${cleanLineForModel(command).replaceAll('`', "'").slice(0, commandCharactersMax)}\``
}

function askText(claims: readonly ClaimRow[]): string {
  const holders = [...new Set(claims.slice(0, claimsShownMax).map(({ agent }) => agent))]
  return `To ask: ${holders.map((holder) => `relay_send(to="${holder}")`).join(', ')}.`
}
