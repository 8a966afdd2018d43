/** Classifies the errors of data systems: whether a retry can succeed, and whether the system is failing. */

/** Why a query has no answer. With `serverError`, the server is up and failed on this query. For `rejected`, a retry fails until the query, the credentials or the endpoint change. */
export type LocalityErrorCode =
  | 'unreachable'
  | 'timeout'
  | 'unavailable'
  | 'throttled'
  | 'serverError'
  | 'unauthorized'
  | 'rejected'
  | 'invalidResponse'

/** The effect of one query on the state of the whole system. `unclear`: the error may concern this query only. */
export type SystemSign = 'answers' | 'fails' | 'unclear'

const SIGNS: Readonly<Record<LocalityErrorCode, SystemSign>> = {
  unreachable: 'fails',
  timeout: 'fails',
  unavailable: 'fails',
  throttled: 'fails',
  serverError: 'unclear',
  unauthorized: 'unclear',
  invalidResponse: 'unclear',
  rejected: 'answers',
}

/** Returns the state of a system after one query; without an error, it answers. */
export function systemSign(code: LocalityErrorCode | undefined): SystemSign {
  return code === undefined ? 'answers' : SIGNS[code]
}

/** Whether an error may disappear without a change of the query, the credentials or the endpoint. */
export function isTransient(code: LocalityErrorCode): boolean {
  return SIGNS[code] === 'fails' || code === 'serverError'
}
