/** Removes the traces of Lodestone, one object after another. */
import type { Write } from '../../core/plan.ts'
import { applyWrite } from '../../reconcile/apply.ts'
import { ApiError } from '../../store/cluster/api-error.ts'
import { ConflictError, MissingPrerequisiteError, NotFoundError } from '../../store/store.ts'
import { type Candidate, pause, planAgain, type UninstallContext } from './gather.ts'

/** Karmada writes a binding several times within a second after its policy has changed. The next pass tries again. */
const MAX_ATTEMPTS = 6
const FIRST_DELAY_MS = 20

/**
 * Errors that the next object would have too: credentials that have ended, or an API server that stays unavailable. With a hundred thousand objects,
 * the command would not end for days.
 */
const OF_SERVER = [401, 429, 502, 503, 504]

/**
 * Removes the traces from one object: makes the planned write. After a conflict, it reads the object and plans again, a few times.
 *
 * @returns the removed values, none if the object was deleted meanwhile; or why the API server rejects the write.
 * @throws ApiError for an error that does not concern this object alone
 */
export async function removeTraces(
  candidate: Candidate,
  context: UninstallContext,
): Promise<{ removes: readonly string[] } | { failure: string } | 'conflict'> {
  let { removal } = candidate
  for (let attempt = 1; ; attempt++) {
    if (!removal.write) return { removes: [] }
    try {
      await applyWrite(context.store, inVersion(removal.write, candidate))
      return { removes: removal.removes }
    } catch (error) {
      if (error instanceof NotFoundError || error instanceof MissingPrerequisiteError) return { removes: [] }
      // Also a webhook of another product that does not answer, which is an error 500.
      if (error instanceof ApiError && !OF_SERVER.includes(error.status)) return { failure: error.message }
      if (!(error instanceof ConflictError)) throw error
      if (attempt === MAX_ATTEMPTS) return 'conflict'
      await pause(context, FIRST_DELAY_MS * 2 ** (attempt - 1))
    }
    const next = await planAgain(candidate, context)
    if (!next) return { removes: [] }
    removal = next
  }
}

/** The plan names the first version of a kind, and the API server may serve another one. */
function inVersion(write: Write, { type }: Candidate): Write {
  return write.kind === 'patch' ? { ...write, of: { ...write.of, type } } : { ...write, type }
}
