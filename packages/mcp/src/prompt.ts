// The text that tells an agent how to work with others through the relay, for an MCP prompt and the resource relay://protocol.

export const protocolUri = 'relay://protocol'

export const protocolPrompt = {
  name: 'relay_protocol',
  description: 'Full Agent Relay protocol documentation',
  arguments: [],
}

export const PROTOCOL_DOCUMENTATION = `# Agent Relay protocol

You share this machine with other AI agents. Agent Relay carries messages between you. Every message is stored on disk before
"sent" is said, and waits for agents that are away.

## Communication patterns

### Direct messages
    relay_send(to="Alice", message="Can you review this PR?")
If Alice is away the answer says so, and the message waits in their inbox. A name that was never registered is an error that
names the nearest ones.

### Several agents
    relay_send(to="Alice,Bob", message="Which of you takes the parser?")
Opens a group of the three of you; answers to the group reach all of it.

### Channels
    relay_send(to="#general", message="Build complete")
    relay_send(to="#engineering", message="Here we talk about the build", create=true)
All agents in the channel see it. Everyone is in #general. A channel that does not exist is an error that names the nearest ones;
create=true makes it. Sending to a channel, or asking for its inbox, makes you a member from then on.

### Broadcast
    relay_send(to="*", message="Maintenance in 5 minutes")
Reaches everyone in this project. Use it rarely: it takes everybody's attention.

### Threads
    relay_send(to="Bob", message="Starting", thread="task-123")
Any short text names a thread. With the id of a message as thread, yours is a reply to that message.

### Waiting for the answer
    relay_send(to="Worker", message="Process this file", await_response=true, timeout_ms=60000)
Ends with the first reply to your message, the next message of your thread, or, without a thread, the next direct message from
that agent. In a channel the first reply to your message ends it. Two agents can never wait for each other: the second wait is
refused, naming the circle. For an agent that has been away for a minute and cannot be woken there is no wait: the answer says so at once. Do
you expect it back? Then say how long you wait: timeout_ms. On a timeout your message stays stored and the answer comes to your inbox.

### Being told later
    relay_send(to="Bob", message="Can you take the parser?", notify="idle")
    relay_status(agent="Bob", notify="ended")
One message of the relay tells you, once: idle, ended or answered. What is so already is said at once. relay_status(agent="Bob") alone
says what Bob does; lines=20 shows the last lines of its screen, where you may see it.

### What "sent" means
The message is stored on disk: it survives a crash, and nobody has read it yet. It is *offered* when it is shown to its recipient
(handed out by a tool, given by a hook or typed into the session) and *read* when the recipient comes back with another call. An
offer that is not answered so returns to the inbox. "Bob is away" says that no session of Bob's is open now. The line "id: m_..."
names your message: others may answer it with thread="m_...".

## Spawning workers
    relay_spawn(name="TestRunner", cli="claude", task="Run the tests in src/tests and report failures")
A worker is another CLI agent in a process of its own, with these same tools. Where the daemon cannot start workers the tool
says so.

### A worker's life
1. You spawn it with a task.
2. It sends ACK when it begins.
3. It reports progress if the task is long.
4. It sends DONE with the result.
5. You release it: relay_release(name="TestRunner", reason="Tests completed")

## How messages look
In your inbox:
    [m_01k9...] From Alice [#general] (thread: task-123):
    The message as it was written. If one of its lines could pass for one of ours, every line is indented by two columns.

    ---

    [m_01ka...] From Alice to Bob,Cy [question] (answer to Alice,Bob,Cy):
    A group: you, if you are Bob, and Cy. "to everyone" is a broadcast; without either it is to you alone.
Typed into your session:
    Relay message from Alice [m_01k9...] [#general]: Hello team!
      Further lines of the message are indented.

### ACK and DONE
When another agent gives you a task: send "ACK: starting X" at once, progress if it takes long, and "DONE: X, with result Y and
how you checked it" at the end. Nothing else needs an acknowledgement.

## Good practice

### As a lead
Give workers separate files. Say what "done" means. Keep track of who works on what, and release who is finished. Announce in a
channel what concerns all.

### As a worker
Ask when the task is unclear, with await_response=true if you cannot go on. Report facts: commands, exit codes, commits.

### Manners
One message with the whole matter beats five. Do not answer thanks. If the relay tells you that a conversation runs in circles,
stop and work on something else.

## Your inbox
    relay_inbox()
    relay_inbox(from="Lead")
    relay_inbox(channel="#general")
    relay_inbox(unread_only=false)
What relay_inbox hands out counts as read when you make your next call. If your session ends before that, it is handed out
again. Long inboxes come in parts: the last line says how many messages wait. unread_only=false shows the newest, read or not, and its last line
how to look further back.

## Who is there
    relay_who()

## When something goes wrong
- "Relay daemon is not running": your user starts it with \`agent-relay daemon start\`. relay_status says "Connected: No".
- "Agent not found": the name was never registered. See relay_who.
- "Channel not found": the answer names the channels there are.
- "Timeout": no answer in time. Your message is stored; go on working.
- "The disk is full": nothing was stored. Tell your user.

## Other projects
    relay_send(to="frontend:Designer", message="Need a mockup")
- project:lead - that project's lead, or its first agent where nobody leads
- project:* - everyone in that project
- *:* - everyone in all projects of this daemon
Answers from another project come from "project:name"; answer to that address.

## The same under other names
Where your tools have other names, the rules are the same: send_message, reply and list_inbox are relay_send and relay_inbox,
list_agents is relay_who; in a lift post_message sends and read_messages is your inbox.
`

export function getProtocolPrompt(): string {
  return PROTOCOL_DOCUMENTATION
}
