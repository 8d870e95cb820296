// Encodes and decodes the protocol's frames: bytes to envelopes, and envelopes to lines. Re-exports the SDK's parser, and loads nothing else of the
// SDK.

export { encodeFrame, FrameError, FrameParser } from '@agent-relay/sdk/protocol/frames'
