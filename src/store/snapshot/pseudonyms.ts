/** Pseudonyms for the names of tenants: equal names get equal pseudonyms, within one snapshot. */
import { hash } from 'node:crypto'
import type { LabelSelector } from '../../api/meta.ts'
import { defined, isObject } from '../../base/json.ts'

/** In hexadecimal digits: 64 bits. Among ten million names, two get the same pseudonym with a probability of one in 100,000. */
const LENGTH = 16

type Texts = Readonly<Record<string, string>>

export class Pseudonyms {
  readonly #salt: string

  /** @param salt random, and not stored: without it, no list of names shows which pseudonym stands for which name */
  constructor(salt: string) {
    this.#salt = salt
  }

  /** Returns the pseudonym of a name, which is valid wherever the name is. */
  of(name: string): string {
    return name === '' ? '' : `x${hash('sha256', `${this.#salt}${name}`).slice(0, LENGTH)}`
  }

  /** As `of`; undefined stays undefined. */
  ofOptional(name: string | undefined): string | undefined {
    return name === undefined ? undefined : this.of(name)
  }

  /** Replaces names and values, such as those of labels. */
  ofEntries(texts: Texts): Record<string, string> {
    return Object.fromEntries(Object.entries(texts).map(([name, value]) => [this.of(name), this.of(value)]))
  }

  /** Replaces each text in a value, and keeps the names of its fields. */
  ofTexts(value: unknown): unknown {
    if (typeof value === 'string') return this.of(value)
    if (Array.isArray(value)) return value.map((item) => this.ofTexts(item))
    if (!isObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, this.ofTexts(member)]))
  }

  /** Replaces the labels of a selector, so that it selects the same objects. */
  ofSelector({ matchLabels, matchExpressions }: LabelSelector): LabelSelector {
    return defined({
      matchLabels: matchLabels && this.ofEntries(matchLabels),
      matchExpressions: matchExpressions?.map(({ key, operator, values }) =>
        defined({ key: this.of(key), operator, values: values?.map((value) => this.of(value)) }),
      ),
    })
  }

  /** Replaces `namespace/name`, also after a kind, as annotations name claims and volumes. */
  ofClaim(claim: string): string {
    const [, kind = '', namespace = '', name = ''] = CLAIM.exec(claim) ?? []
    return COUNT.test(claim) ? claim : `${kind}${namespace && `${this.of(namespace)}/`}${this.of(name)}`
  }
}

const CLAIM = /^([A-Z]\w* )?(?:([^/]*)\/)?(.*)$/s
/** The text for more claims than a decision combines. */
const COUNT = /^\d+ claims$/
