// What can happen to what needs a person: that person is done with it.

/** Without an answer. `through`: up to the message with this `seq`; 0 where it is not about messages. */
export interface NeedDismissed {
  type: 'need.dismissed'
  agent: string
  key: string
  through: number
}
