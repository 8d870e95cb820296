// The launcher's shell code for hooks, and the waiter (a process beside an idle session that wakes it for messages). A hook runs at every turn of a
// person's session, so it must cost next to nothing, print nothing, and start Node.js only if there is a daemon to ask. The programs that run after
// this code are in hooks/.

/** Interval at which a waiter checks whether its session is still there, in seconds. */
const tickSeconds = 5
/**
 * While its session is in a turn, a waiter hands over no messages: the hook at the turn's end starts the next waiter. A turn that the person
 * interrupts, or in which the model fails, runs no hook at its end. So after this many ticks of `tickSeconds` the waiter hands the messages over
 * anyway, and the CLI keeps them until its next request, or until its dialog is closed.
 */
const busyTicks = 12

/**
 * Files in `hooks/` of the data directory, where HOST is the process id of a CLI:
 * - `daemon` contains the process id of the daemon. It is a hint: if it is wrong, Node.js is started in vain; if it is missing, hooks do nothing.
 * - `quiet.HOST`: no message waits for the agents of this CLI. Then no hook starts Node.js, except at the beginning of a session, which is also
 *   shown the messages that an earlier session has seen.
 * - `brief.HOST`: a brief has still to be given (hooks/later-brief.cts).
 * - `claims.WORKSPACE`: hooks must ask the daemon about edits. The file stays when the daemon is killed, and hooks leave notes then.
 * - `door.HOST`: the daemon itself reaches this session, by the session's own socket. No waiter is started there, and a running one ends.
 *
 * A worker has hooks of its own, whose last argument is `--worker`. In a worker, the hooks of its user's settings do nothing, except before an edit
 * in a CLI other than Claude Code.
 *
 * A waiter (started by Claude Code's asyncRewake or by opencode's plugin) reads lines from the fifo `hooks/HOST.PID`: the daemon writes `mail`, the
 * hook of a prompt `busy`, and the next waiter `end`. It needs a shell whose `read` has a timeout: sh, or else bash. Without one, the waiter is a
 * Node.js process. A session that nobody attends, such as `claude -p`, has no waiter, since the CLI would wait for the waiter to end. In an attended
 * session, the waiter hands over the messages that came during the turn. A worker runs in a terminal of ours, so it counts as attended unless its CLI
 * says otherwise.
 */
export const hookGuardCode = `data="\${0%/bin/*}"
case "$RELAY_DATA_DIR" in /*) data="$RELAY_DATA_DIR" ;; esac
has_daemon() {
  daemon=
  { read -r daemon < "$data/hooks/daemon"; } 2> /dev/null
  [ -S "$RELAY_SOCKET" ] || { [ -n "$daemon" ] && kill -0 "$daemon" 2> /dev/null; }
}
has_door() { [ -e "$data/hooks/door.$PPID" ] && has_daemon; }
if [ "$1" = hook ]; then
  [ -f "$script" ] || exit 0
  edits=
  case "$2" in PreToolUse | BeforeTool | preToolUse | tool) edits=1 ;; esac
  attended="$CLAUDE_CODE_SESSION_ATTENDED"
  if [ -n "$RELAY_WORKER" ]; then
    case "$* $edits" in
    *' --worker '*) attended="\${attended:-1}" ;;
    *' --cli claude 1' | *' ') exit 0 ;;
    esac
  fi
  if [ -n "$edits" ]; then
    for need in "$data/hooks/claims."*; do break; done
    [ -e "$need" ] || exit 0
    export RELAY_HOST="\${RELAY_HOST:-$PPID}" RELAY_NOTES="$data/hooks/spool"
    if [ -x "$node" ]; then exec "$node" "$script" "$@"; fi
  fi
  beside="$data/hooks/$PPID"
  brief="$data/hooks/brief.$PPID"
  # Writes to the waiter; fails where there is none. If one ends at this moment, the shell makes a file instead of the fifo, which must not stay.
  tell() {
    told=1
    for fifo in "$beside".*; do
      [ -p "$fifo" ] && echo "$1" 1<> "$fifo" || continue
      if [ -p "$fifo" ]; then told=0; else rm -f "$fifo"; fi
    done 2> /dev/null
    return $told
  }
  # Fails where the hook may speak for another agent than those of the programs that the daemon knows.
  is_quiet() {
    [ -e "$data/hooks/quiet.$PPID" ] && [ ! -e "$brief" ] || return 1
    [ -n "$RELAY_WORKER" ] || [ -z "$RELAY_SOCKET$RELAY_BASE_URL$RELAY_AGENT_TOKEN" ]
  }
  # The number of times that a session of Gemini CLI replaced its history: each time it begins its record again.
  cuts() { grep -c '^{"$set":{"sessionId":' "$1" || [ $? = 1 ]; }
  turn="$data/hooks/turn.$PPID"
  # Whether this shell can wait with a time limit.
  is_patient() {
    (read -t 1 line) < /dev/null 2> /dev/null
    [ $? -le 1 ]
  }
  case "$4 $2 $attended" in
  'claude Stop 1') exit 0 ;;
  'claude UserPromptSubmit 1')
    # The waiter beside the session, or the one that has just woken it, has handed over all messages.
    if [ -e "$beside.woken" ]; then rm -f "$beside.woken"; tell busy; exit 0; fi
    # A daemon that reaches the session by its own socket has also handed over all messages. A brief that could not be given when the
    # session began goes with the prompt.
    if { tell busy || has_door; } && [ ! -e "$brief" ]; then exit 0; fi
    ;;
  'claude wait 1' | 'opencode wait '*)
    [ -d "$data/hooks" ] || exit 0
    if has_door; then exit 0; fi
    busy=0
    case "$5" in
    SessionStart)
      # A compaction comes in the middle of a turn, or there is a waiter already.
      read -r line
      case "$line" in *'"source":"compact"'*) exit 0 ;; esac
      ;;
    UserPromptSubmit)
      # Only without a waiter: the last one has woken the session, and the end of this turn may run no hook that starts the next.
      for fifo in "$beside".*; do
        if kill -0 "\${fifo##*.}"; then exit 0; fi
      done 2> /dev/null
      busy=${busyTicks} since=$(date +%s)
      ;;
    esac
    # The input from opencode's plugin is for the hook that the waiter starts.
    [ "$4" = opencode ] || exec < /dev/null
    if ! is_patient && [ -z "$BASH_VERSION" ] && command -v bash > /dev/null; then exec bash "$0" "$@"; fi
    export RELAY_HOST="$PPID"
    if is_patient; then
      # The hook of the same prompt must still find the file of the waiter that has woken the session.
      if [ $busy = 0 ]; then tell end; rm -f "$beside".*; fi
      own="$beside.$$"
      umask 077
      mkfifo "$own" 2> /dev/null && exec 3<> "$own" || exit 0
      trap 'rm -f "$own"; exit 0' HUP INT TERM
      mail=1
      if is_quiet; then mail=; fi
      while :; do
        if [ -n "$mail" ] && [ $busy = 0 ] && has_daemon; then
          mail=
          "$0" hook rewake --cli "$4" \${RELAY_WORKER:+--worker} 3<&-
          case "$? $4" in
          '2 claude') mv -f "$own" "$beside.woken"; exit 2 ;;
          '2 '*) rm -f "$own"; exit 0 ;;
          esac
        fi
        line=
        if read -t ${tickSeconds} line <&3; then
          # The end of a tick may cut a line's beginning off: its last letter tells which it was.
          case "$line" in
          *d) rm -f "$own"; exit 0 ;;
          *y) busy=${busyTicks} since=$(date +%s) ;;
          *)
            mail=1
            # Under so much mail that no tick ever ends, the clock decides.
            if [ $busy != 0 ] && [ $(($(date +%s) - since)) -ge ${busyTicks * tickSeconds} ]; then busy=0; fi
            ;;
          esac
        elif kill -0 "$PPID" 2> /dev/null && [ -p "$own" ] && ! has_door; then
          [ $busy = 0 ] || busy=$((busy - 1))
        else
          rm -f "$own"
          kill -0 "$PPID" 2> /dev/null || rm -f "$brief"
          exit 0
        fi
      done
    fi
    # A waiter that is a Node cannot wait for the end of the turn.
    if [ $busy != 0 ]; then exit 0; fi
    ;;
  'gemini PreCompress '*)
    # This hook runs before every turn, compaction or not. A compaction by the person says so; the session's record shows others afterwards.
    has_daemon || exit 0
    read -r line
    record=\${line#*'"transcript_path":"'} record=\${record%%'"'*}
    case "$line$record" in
    *'"trigger":"manual"'*) echo compact > "$brief" ;;
    *\\\\*) ;;
    *) cuts=$(cuts "$record") && echo "$cuts $record" > "$turn" ;;
    esac 2> /dev/null
    exit 0
    ;;
  'gemini BeforeAgent '*)
    if has_daemon && read -r cuts record < "$turn" && [ "$(cuts "$record")" -gt "$cuts" ]; then echo compact > "$brief"; fi 2> /dev/null
    ;;
  # A session that nobody attends has no dialog and must not wait.
  'claude PermissionRequest 1') ;;
  'claude PermissionRequest '*) exit 0 ;;
  'claude SessionStart 1') ;;
  # An unattended session begins before the daemon knows its server, so only a token says whose it is; its one prompt brings no more than its start.
  'claude SessionStart '*) [ -n "$RELAY_AGENT_TOKEN" ] || exit 0 ;;
  'claude UserPromptSubmit '* | 'claude wait '*) exit 0 ;;
  esac
  case "$2" in
  UserPromptSubmit | PostToolUse | Stop | BeforeAgent | AfterAgent | userPromptSubmitted | agentStop)
    if is_quiet; then exit 0; fi
    ;;
  esac
  has_daemon || exit 0
  export RELAY_HOST="\${RELAY_HOST:-$PPID}"
fi`
