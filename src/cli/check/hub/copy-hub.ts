/** Opens the hub of the arguments, and copies what a check needs from it. */
import type { Config } from '../../../app/config/config.ts'
import type { Manifest } from '../../../store/folder/manifests.ts'
import type { Arguments, CommandIo } from '../../command.ts'
import { karmadaRulesOf } from '../../karmada-version.ts'
import { openSource } from '../../open-source.ts'
import { openSession, type ReviewContext } from '../review/review-object.ts'
import { type HubContent, hubKinds, readHub } from './read-hub.ts'

/**
 * Copies the objects on which the decisions depend into the store of the context. Throws `UserError` if the API server does not respond, or
 * if the user lacks a permission. The decisions then follow the rules of the hub, unless the arguments have a version.
 */
export async function copyHub(
  manifests: readonly Manifest[],
  context: ReviewContext,
  config: Config,
  args: Arguments,
  io: CommandIo,
): Promise<HubContent> {
  const {
    store: hub,
    karmadaRules,
    close,
  } = await openSource('check', args, io, { kinds: hubKinds, workloads: context.workloads })
  context.karmadaRules = karmadaRulesOf(args, config, karmadaRules)
  try {
    const { systems } = config
    return await readHub(manifests, { hub, session: openSession(context), systems, signal: io.signal })
  } finally {
    await close()
  }
}
