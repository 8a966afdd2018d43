/** Classifies the errors of data systems: which are worth a retry, and what each says about the system. */

/** Why a query has no answer. `rejected`: the same query fails again until its name, the credentials or the endpoint change. */
export type LocalityErrorCode =
  | 'unreachable'
  | 'timeout'
  | 'unavailable'
  | 'throttled'
  | 'unauthorized'
  | 'rejected'
  | 'invalidResponse'

/** What the end of one query says about the whole system; `unclear`: it may be true of this one query only. */
export type SystemSign = 'answers' | 'fails' | 'unclear'

const SIGNS: Readonly<Record<LocalityErrorCode, SystemSign>> = {
  unreachable: 'fails',
  timeout: 'fails',
  unavailable: 'fails',
  throttled: 'fails',
  unauthorized: 'unclear',
  invalidResponse: 'unclear',
  rejected: 'answers',
}

/** Reads the state of a system from the end of one query; without an error it has answered. */
export function signOf(code: LocalityErrorCode | undefined): SystemSign {
  return code === undefined ? 'answers' : SIGNS[code]
}

/** Whether an error may pass without a change of the query, the credentials or the endpoint. */
export function isPassing(code: LocalityErrorCode): boolean {
  return SIGNS[code] === 'fails'
}
