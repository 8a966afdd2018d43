/** An error that the user can fix: invalid arguments or configuration. The command line prints its message and exits with 2. */
export class UserError extends Error {
  override name = 'UserError'
}
