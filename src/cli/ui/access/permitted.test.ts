import { describe, expect, test } from 'vitest'
import { makeClaim, makeCluster, makeDeployment, makePolicy, makeSource, NOW } from '../../../../test/builders.ts'
import { storeOf } from '../../../../test/stores.ts'
import { resourceWord } from '../../../api/meta.ts'
import { SHIPPED_KINDS } from '../../../core/workload-kinds/kinds.ts'
import { explainContext } from '../../explain/context.fake.ts'
import type { LocateQuestion } from '../questions/locate.ts'
import { pageKinds } from '../ui.ts'
import { checkRejection, explainFor, historyRejection, locateFor, serverRejection } from './permitted.ts'
import { viewerWith } from './viewer.fake.ts'
import { OWNER } from './viewer.ts'

const REGISTRATION = 'get mutatingwebhookconfigurations.admissionregistration.k8s.io lodestone'
const kinds = pageKinds(SHIPPED_KINDS).map(({ type }) => type)
const all = kinds.map((type) => `list ${resourceWord(type)}`)

test('the owner of the command may see everything', async () => {
  const rejections = [await serverRejection(OWNER), await historyRejection(OWNER, undefined)]
  expect([...rejections, await checkRejection(OWNER, kinds)]).toEqual([undefined, undefined, undefined])
})

describe('a reader of a page in a cluster', () => {
  test('sees the installation with the right to read the registration', async () => {
    expect(await serverRejection(viewerWith([REGISTRATION]))).toBeUndefined()
    expect(await serverRejection(viewerWith([]))).toMatchObject({ status: 403 })
  })

  test('sees the history of a namespace with the right to list its Events', async () => {
    const viewer = viewerWith(['list events in demo'])
    expect(await historyRejection(viewer, 'demo')).toBeUndefined()
    expect(await historyRejection(viewer, 'other')).toMatchObject({ status: 403 })
    expect(await historyRejection(viewer, undefined)).toMatchObject({ status: 403 })
  })

  test('may check with the right to list everything that a check reads', async () => {
    expect(await checkRejection(viewerWith(all), kinds)).toBeUndefined()
    for (const right of all) {
      const others = all.filter((each) => each !== right)
      expect(await checkRejection(viewerWith(others), kinds)).toMatchObject({ status: 403 })
    }
  })
})

const CLAIMS = 'datasourceclaims.datadependency.volcano.sh'
const DEPLOYMENTS = 'deployments.apps'
const app = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'app' }

async function fleet() {
  const clusters = ['member1', 'member2'].map((name) => makeCluster(name))
  return explainContext(await storeOf([makeClaim(), makeSource(), makeDeployment(), makePolicy(), ...clusters]), NOW)
}

describe('an explanation', () => {
  const explain = async (rights: string[], kind = 'Deployment', name = 'app') => {
    const { object, rejection } = await explainFor(
      viewerWith(rights),
      { kind, namespace: 'default', name },
      await fleet(),
    )
    return rejection?.message ?? JSON.stringify(object)
  }

  test('is for readers who may read the object', async () => {
    expect(await explain([`get ${DEPLOYMENTS} in default app`])).toContain('Deployment default/app')
    expect(await explain([])).toBe('you may not get deployments.apps app in namespace default')
  })

  test('of a word that means several kinds is about those that the reader may read', async () => {
    expect(await explain(['list jobs.batch in default'], 'Job')).toBe('Job default/app not found')
    expect(await explain([], 'Job')).toContain('you may not get jobs.batch app')
  })

  test('that does not exist names similar objects only to readers who may list all', async () => {
    expect(await explain([`list ${DEPLOYMENTS}`], 'Deployment', 'ap')).toContain('did you mean app')
    expect(await explain([`list ${DEPLOYMENTS} in default`], 'Deployment', 'ap')).toBe(
      'Deployment default/ap not found',
    )
  })
})

describe('a location', () => {
  const locate = async (rights: string[], question: LocateQuestion = { workload: app }) => {
    const { answer, rejection } = await locateFor(viewerWith(rights), question, await fleet())
    return rejection ? rejection.message : answer.clusters.map(({ name }) => name)
  }
  const { spec } = makeClaim()

  test('has costs, which tell where clusters are, with the right to list clusters', async () => {
    const context = await fleet()
    const config = { ...context.config, transferCosts: { links: [{ from: {}, to: {}, pricePerGiB: 1 }] } }
    const costs = async (rights: string[]) => {
      const { answer } = await locateFor(viewerWith(rights), { workload: app }, { ...context, config })
      return answer?.clusters.map((row) => 'transfer' in row)
    }
    const both = [`list ${DEPLOYMENTS} in default`, `list ${CLAIMS} in default`]
    expect(await costs([...both, 'list clusters.cluster.karmada.io'])).toEqual([true, true])
    expect(await costs(both)).toEqual([false])
  })

  test('of a workload is for readers who may read it, and list the claims that place it', async () => {
    const both = [`list ${DEPLOYMENTS} in default`, `list ${CLAIMS} in default`]
    expect(await locate(both)).toEqual(['member2'])
    expect(await locate([...both, 'list clusters.cluster.karmada.io'])).toEqual(['member2', 'member1'])
    expect(await locate(both.slice(0, 1))).toContain(`you may not list ${CLAIMS} in namespace default`)
    expect(await locate(both.slice(1))).toContain(`you may not list ${DEPLOYMENTS} in namespace default`)
  })

  test('of claims is for readers who may create them', async () => {
    const question = { claims: [{ spec }] }
    expect(await locate([`create ${CLAIMS} in default`], question)).toEqual(['member2'])
    expect(await locate([`list ${CLAIMS} in default`], question)).toContain(`you may not create ${CLAIMS}`)
  })
})
