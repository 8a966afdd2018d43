/** Which readers may see the installation, the history and checks: they show more than one list. */
import { events } from '../../../api/event.ts'
import type { ResourceType } from '../../../api/meta.ts'
import { resourceWord } from '../../../api/meta.ts'
import { mutatingWebhookConfigurations, REGISTRATION_NAME } from '../../../api/registration.ts'
import { kindsOfPlacement } from '../../explain/workload.ts'
import { mayNotList, type Rejection, type Viewer } from './viewer.ts'

/** The installation is for those who may read the registration. */
export async function serverRejection(viewer: Viewer): Promise<Rejection | undefined> {
  if (await viewer.may('get', mutatingWebhookConfigurations, { name: REGISTRATION_NAME })) return undefined
  const what = `${resourceWord(mutatingWebhookConfigurations)} ${REGISTRATION_NAME}`
  return { status: 403, message: `you may not get ${what}; ask an administrator for this right` }
}

/** The history is that of Events. */
export async function historyRejection(viewer: Viewer, namespace: string | undefined): Promise<Rejection | undefined> {
  if (await viewer.may('list', events, { namespace })) return undefined
  return mayNotList(events, namespace)
}

/** A check tells of objects in any namespace, so the reader needs the rights to list all that it reads. */
export async function checkRejection(
  viewer: Viewer,
  isServed: (kind: ResourceType) => boolean,
): Promise<Rejection | undefined> {
  const kinds = kindsOfPlacement.map(({ type }) => type).filter(isServed)
  const rights = await Promise.all(kinds.map((kind) => viewer.may('list', kind)))
  const denied = kinds.find((_, i) => !rights[i])
  return denied && mayNotList(denied)
}
