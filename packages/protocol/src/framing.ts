// The framing of the protocol, from bytes to envelopes and from envelopes to lines: the SDK's parser; nothing else of the SDK is loaded.

export { encodeFrame, FrameError, FrameParser } from '@agent-relay/sdk/protocol/frames'
