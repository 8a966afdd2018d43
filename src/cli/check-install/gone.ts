/** Checks that an uninstallation left nothing: it plans one, which must be empty. */
import { defined } from '../../base/json.ts'
import { systemClock } from '../../base/time/clock.ts'
import { openClusterStore } from '../../store/cluster/cluster.ts'
import { leases } from '../../store/cluster/lease.ts'
import { findLeases } from '../uninstall/find-leases.ts'
import { type Candidate, gatherTraces } from '../uninstall/gather.ts'
import { renderTraces } from '../uninstall/report.ts'
import { type CheckContext, configWords, failed, type NamedFinding, passed } from './check.ts'

const ENDING = 'wait until the finalizers of other controllers are removed, for instance until no pod uses the volume'

/** Returns a failure for each kind with traces, or which cannot be read; otherwise one finding that passed. */
export async function findTraces(check: CheckContext): Promise<NamedFinding[]> {
  const { connection, config, signal, now } = check
  const store = openClusterStore({ connection, kinds: [] })
  try {
    const context = { connection, store, config, signal, now: () => now, clock: systemClock }
    const { candidates, ending, unreadable } = await gatherTraces(context, {
      restores: true,
      deletesDefinitions: false,
    })
    const found = [
      ...(await findLeases(context)).map(({ metadata: { namespace, name = '' } }) =>
        defined({ type: leases, namespace, name, removes: ['the election of replicas'] }),
      ),
      ...candidates.map(describeTrace),
    ]
    const findings = [
      ...byKind(found).map(([name, message]) => ({
        name,
        ...failed(message, `run: lodestone uninstall --yes${configWords(check)}`),
      })),
      ...byKind(ending.map(describeTrace)).map(([name, message]) => ({ name, ...failed(message, ENDING) })),
      ...unreadable.map((message) => ({
        name: 'permissions',
        ...failed(message, 'run the command as an administrator'),
      })),
    ]
    return findings.length > 0 ? findings : [{ name: 'gone', ...passed('nothing of Lodestone is left') }]
  } finally {
    await store.stop()
  }
}

function describeTrace({ removal, ...object }: Candidate) {
  return { ...object, removes: removal.isEnding ? ['is being deleted'] : removal.removes }
}

/** Returns each kind with the line about its traces. */
function byKind(traces: Parameters<typeof renderTraces>[0]): [string, string][] {
  return [...Map.groupBy(traces, ({ type }) => type.kind)].map(([kind, members]) => [
    kind,
    renderTraces(members).join('').trimEnd().slice(`${kind}: `.length),
  ])
}
