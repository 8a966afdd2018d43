/** Reads and writes the webhook configurations of the cluster: for admission, and for Karmada's resource interpreter. */
import {
  ABSENCE_POLICIES,
  type ValidatingAdmissionPolicy,
  validatingAdmissionPolicies,
} from '../api/admission-policy.ts'
import { type InterpreterWebhookConfiguration, interpreterWebhookConfigurations } from '../api/interpreter.ts'
import type { K8sObject } from '../api/meta.ts'
import {
  mutatingWebhookConfigurations,
  REGISTRATION_NAME,
  type Registrable,
  VERSION_ANNOTATION,
  validatingWebhookConfigurations,
  type WebhookConfiguration,
} from '../api/registration.ts'
import { defined } from '../base/json.ts'
import type { WriteAction } from '../core/plan.ts'
import { MissingPrerequisiteError, type ObjectStore, rejectionMessage } from '../store/store.ts'
import { applyWrite } from './apply.ts'
import { caBundleToRegister } from './ca-bundle.ts'
import {
  isCurrent,
  isServed,
  planCa,
  planPolicy,
  planRegistration,
  planWithdrawal,
  type RegisteredConfiguration,
  registeredCaBundle,
} from './plan-registration.ts'

/** A registration as it is in the cluster, and the writes that would change it. */
export interface ReadRegistration {
  /** See `TurnInput`. */
  registered: 'absent' | 'unnamed' | 'named'
  /** Whether it is as wanted. */
  isCurrent: boolean
  /** Whether the API server can call its webhooks with the present CA, of whichever version they are. */
  isServed: boolean
  /** Makes it the wanted one. */
  replace: readonly WriteAction[]
  /** Keeps its webhooks, and gives them the present CA. */
  renewCa: readonly WriteAction[]
  /** Changes with a part of the wanted registration that changes at run time. */
  revision?: string
}

/**
 * Reads the registration for admission from the API server: a few reads per minute need no watch.
 *
 * @param keepsOtherCas whether registered CAs of other replicas stay
 */
export async function readAdmissionRegistration(
  store: Pick<ObjectStore, 'read'>,
  wanted: readonly WebhookConfiguration[],
  keepsOtherCas: boolean,
): Promise<ReadRegistration> {
  const configurations = await Promise.all(
    wanted.map(async (configuration) => {
      const isValidating = configuration.kind === validatingWebhookConfigurations.kind
      const type = isValidating ? validatingWebhookConfigurations : mutatingWebhookConfigurations
      const current = await store.read(type, undefined, configuration.metadata.name ?? '')
      return { type, wanted: configuration, current }
    }),
  )
  return compare(configurations, keepsOtherCas)
}

/**
 * Reads the registration with Karmada's resource interpreter from the API server. Without a wanted configuration, one of Lodestone is to be emptied.
 *
 * @param keepsOtherCas whether registered CAs of other replicas stay
 */
export async function readInterpreterRegistration(
  store: Pick<ObjectStore, 'read'>,
  wanted: InterpreterWebhookConfiguration | undefined,
  keepsOtherCas: boolean,
): Promise<ReadRegistration> {
  const type = interpreterWebhookConfigurations
  const current = await store.read(type, undefined, REGISTRATION_NAME)
  if (wanted) return compare([{ type, wanted, current }], keepsOtherCas)
  const replace = planWithdrawal(type, current)
  return {
    registered: registeredAs([current]),
    isCurrent: replace.length === 0,
    isServed: true,
    replace,
    renewCa: [],
  }
}

/** Reads the policies of the API server. A policy that is absent, or that Lodestone has no right to read, is left out. */
export async function readAbsencePolicies(store: Pick<ObjectStore, 'read'>): Promise<ValidatingAdmissionPolicy[]> {
  const read = ABSENCE_POLICIES.map((name) =>
    store.read(validatingAdmissionPolicies, undefined, name).catch(absentIfRejected),
  )
  return (await Promise.all(read)).filter((policy) => policy !== undefined)
}

/**
 * Compares the policies that the installation created with the wanted ones: Lodestone keeps them current.
 *
 * @param exempt the exempt namespaces of the wanted policies
 */
export function compareAbsencePolicies(
  stored: readonly ValidatingAdmissionPolicy[],
  wanted: readonly ValidatingAdmissionPolicy[],
  exempt: readonly string[],
): ReadRegistration {
  const replace = stored.flatMap((current) => {
    const same = wanted.find(({ metadata }) => metadata.name === current.metadata.name)
    return same ? planPolicy(same, current) : []
  })
  const registered = isNamed(stored) ? 'named' : 'unnamed'
  return { registered, isCurrent: replace.length === 0, isServed: true, replace, renewCa: [], revision: exempt.join() }
}

function absentIfRejected(error: unknown): undefined {
  if (rejectionMessage(error) === undefined) throw error
  return undefined
}

function compare<T extends Registrable>(
  wantedAlone: readonly RegisteredConfiguration<T>[],
  keepsOtherCas: boolean,
): ReadRegistration {
  const [own] = wantedAlone.map(({ wanted }) => registeredCaBundle(wanted))
  const configurations = wantedAlone.map((one) => withCasOf(one, keepsOtherCas))
  return {
    revision: `${own} ${keepsOtherCas}`,
    registered: registeredAs(configurations.map(({ current }) => current)),
    isCurrent: configurations.every(({ current, wanted }) => isCurrent(current, wanted)),
    isServed: configurations.every(({ current, wanted }) => isServed(current, wanted)),
    replace: planRegistration(configurations),
    renewCa: planCa(configurations),
  }
}

/** Returns a configuration that is wanted with the CAs to register. */
function withCasOf<T extends Registrable>(
  { type, wanted, current }: RegisteredConfiguration<T>,
  keepsOtherCas: boolean,
): RegisteredConfiguration<T> {
  const own = registeredCaBundle(wanted)
  const caBundle = caBundleToRegister({ own, registered: current && registeredCaBundle(current), keepsOtherCas })
  const webhooks = wanted.webhooks?.map((entry) => ({
    ...entry,
    clientConfig: defined({ ...entry.clientConfig, caBundle }),
  }))
  return { type, wanted: { ...wanted, ...defined({ webhooks }) }, current }
}

function registeredAs(current: readonly (Registrable | undefined)[]): ReadRegistration['registered'] {
  if (current.some((object) => !object?.webhooks?.length)) return 'absent'
  return isNamed(current) ? 'named' : 'unnamed'
}

function isNamed(current: readonly (K8sObject | undefined)[]): boolean {
  return current.every((object) => object?.metadata.annotations?.[VERSION_ANNOTATION])
}

/**
 * Writes a registration.
 *
 * @returns how many configurations were written: none for the interpreter if the API server does not serve its kind.
 * @throws ConflictError if a configuration changed since it was read
 */
export async function writeRegistration(store: ObjectStore, writes: readonly WriteAction[]): Promise<number> {
  for (const write of writes) {
    try {
      await applyWrite(store, write)
    } catch (error) {
      if (write.kind === 'create' && isInterpreter(write) && error instanceof MissingPrerequisiteError) return 0
      // Lodestone's own role has no right to create configurations; an administrator may give it.
      if (write.kind === 'create' && rejectionMessage(error) !== undefined) throw missing(write, error)
      throw error
    }
  }
  return writes.length
}

function missing(write: WriteAction, cause: unknown): Error {
  const { type, object } = write
  const part = isInterpreter(write) ? 'interpreter' : 'registration'
  return new Error(
    `${type.kind} ${object.metadata.name} is missing, and Lodestone may only update it: ${(cause as Error).message}; create it ` +
      `with "lodestone manifests ${part} | kubectl apply -f -" (on a hub with --url), or with the chart`,
    { cause },
  )
}

function isInterpreter({ type }: WriteAction): boolean {
  return type.group === interpreterWebhookConfigurations.group
}
