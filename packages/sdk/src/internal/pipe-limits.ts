// The limits of protocol/limits.ts that the stdio pipe and the hooks need too. It imports nothing, as they load it at every start.

export const pipeLimits = {
  lineBytesMax: 12 * 1024 * 1024,
  idCharsMax: 200,
  jsonDepthMax: 128,
  claimFilesMax: 1_000,
  claimTreesMax: 100,
} as const
