// The type of an envelope, for programs that speak the protocol themselves. Types alone.

import type { Envelope as SdkEnvelope } from '@agent-relay/sdk/protocol/frames'

export type { FrameType, Hello, Welcome } from '@agent-relay/sdk/protocol/frames'

/** A protocol envelope. Each frame type has a payload of its own, so `payload` is `any` unless a program names its type. */
// biome-ignore lint/suspicious/noExplicitAny: with `unknown`, a program could not read `payload.message` without saying more.
export type Envelope<P = any> = SdkEnvelope<P>
