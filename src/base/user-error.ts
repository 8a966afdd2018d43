/** An error that the user can fix. The command line prints its message and exits with its status. */
export class UserError extends Error {
  override name = 'UserError'
  /** 2 for invalid arguments or configuration, 1 for a failure outside of them, such as an API server that does not respond. */
  readonly exitStatus: 1 | 2 = 2
}
