// How bytes become envelopes, and envelopes lines: the SDK's parser, and nothing else of it is loaded.

export { encodeFrame, FrameError, FrameParser } from '@agent-relay/sdk/protocol/frames'
