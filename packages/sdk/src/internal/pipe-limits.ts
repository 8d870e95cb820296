// The limits of protocol/limits.ts that the MCP stdio pipe and the hooks of CLIs need too. Both load this file at every start, so it imports nothing.

export const pipeLimits = {
  lineBytesMax: 12 * 1024 * 1024,
  idCharsMax: 200,
  jsonDepthMax: 128,
  claimFilesMax: 1_000,
  claimTreesMax: 100,
} as const
