/** The words and patterns that the project does not use, each with what to write instead. */

export interface Rule {
  name: string
  pattern: RegExp
  instead: string
}

/** Most words of a sentence. */
export const maxWords = 25

/** A sentence that ends with a question mark may begin with these words. */
const NO_QUERY = '(?=[^?]*$)'

export const rules: readonly Rule[] = [
  // Subjects that name no actor.
  word('whoever', 'whoever|whomever|whom', 'name the actor'),
  word('indefinite person', 'somebody|someone|nobody|everybody|anybody|no one', 'name the actor'),
  {
    name: 'who as a subject',
    pattern: new RegExp(
      `(^|[,;:(] ?|\\b(?:and|or|but|by|to|of|for|from|with|than|that|those|says?|tells?) )who\\b${NO_QUERY}`,
      'i',
    ),
    instead: 'name the actor: "a user who", "the controller"',
  },
  {
    name: 'others as a subject',
    pattern: /^others\b|[,;] others (?:are|have|do|may|can|will|set|write)\b/i,
    instead: 'name the actor',
  },
  {
    name: 'what is … as a subject',
    pattern: new RegExp(
      `^what (?!if\\b)[^,]*?\\b(?:is|are|was|were|has|have|had|comes?|goes|does|do|did|makes?|cannot|can|needs?|takes?|failed)\\b${NO_QUERY}`,
      'i',
    ),
    instead: 'name the thing',
  },
  {
    name: 'inverted condition',
    pattern: /^(?:Was|Were|Is|Are|Had) [^?]*,[^?]*$/,
    instead: 'if …',
  },
  // Contractions.
  {
    name: 'contraction',
    pattern:
      /\b(?:can|won|don|doesn|isn|aren|wasn|weren|hasn|haven|hadn|couldn|shouldn|wouldn|didn|mustn|needn)['’]t\b|\b(?:it|that|there|he|she|what|here|let|who)['’]s\b|\b(?:i|we|you|they)['’](?:re|ve|ll|d|m)\b/i,
    instead: 'write both words',
  },
  // British spellings.
  {
    name: 'British spelling',
    pattern: new RegExp(
      [
        '\\b(?:behaviour|colour|favour|honour|neighbour|labour|flavour|humour|rumour)\\w*',
        '\\b(?:un)?(?:cancell|labell|modell|travell|signall|initiall|fuell|channell|levell)(?:ed|ing|er)\\w*',
        '\\b(?:un)?(?:organi|recogni|seriali|deseriali|normali|initiali|optimi|minimi|maximi|synchroni|authori|customi|utili|summari|prioriti|categori|finali|generali|speciali|standardi|emphasi|parallelis|materiali|memori|memoi)s(?:e|es|ed|er|ers|ing|ation|ations)\\b',
        '\\banalys(?:e|es|ed|ing)\\b',
        '\\b(?:centre|metre|catalogue|licence|defence|artefact|grey|whilst|amongst|judgement|acknowledgement|fulfil|ageing|programme|towards)s?\\b',
      ].join('|'),
      'i',
    ),
    instead: 'the American spelling',
  },
  // Words that the project coined.
  word('verdict', 'verdicts?', 'decision'),
  word('judge', 'judges?|judged|judging', 'decide'),
  word('doubt', 'doubts?|doubted', 'hold cause'),
  word('lane', 'lanes?', 'per-node slot'),
  word('mend', 'mends?|mended|mending', 'repair, fix; retry trigger'),
  word('grave', 'graves?|bury|buries|buried|deaths?', 'tombstone'),
  word('nonsense', 'nonsense', 'invalid response'),
  word('question', 'questions?', 'query'),
  word('sight', 'sights?', 'observed state'),
  word('draft', 'drafts?', 'plan'),
  word('twin', 'twins?', 'name both'),
  word('lister', 'listers?', 'pager'),
  { name: 'notes', pattern: /\b(?<!release )notes\b(?! that\b)|\bnoted\b/i, instead: 'annotations; recorded' },
  word('facts', 'facts|figures', 'inputs; metrics; numbers'),
  {
    name: 'turns',
    pattern: /\b(?:in (?:one|its|their|a) turns?|turns of (?:requests|the)|each turn)\b/i,
    instead: 'request batch',
  },
  {
    name: 'held in a cache',
    pattern: /\bheld (?:in (?:the )?(?:cache|memory)|kinds?|objects?)\b|\bkinds? (?:that (?:is|are) )?held\b/i,
    instead: 'cached',
  },
  { name: 'leading', pattern: /\bis leading\b|\bthe leading replica\b/i, instead: 'is the leader' },
  word('floor', 'floors?', 'layer'),
  // Forms that english.md replaces.
  form('has its say', /\b(?:has|have|had) (?:its|their|a) say\b/, 'is honored'),
  form('is no news', /\bis no news\b|\bhear(?:s|d)? no more\b/, 'emits no Event; unsubscribes'),
  form('cannot be meant', /\bcannot be meant\b|\bis meant by\b/, 'is invalid'),
  form('as what', /\bas what (?:it|they)\b/, 'how it'),
  form('is not well', /\bis not well\b|\bwrong eyes\b|\bleaves? the house\b/, 'failed; wrong version; is returned'),
  form('is dear', /\b(?:is|are|be) dear\b|\bdearer\b/, 'is expensive'),
  form('be it', /\bbe it\b/, 'when … or when …'),
  form('cannot be had', /\bcannot be had\b|\bcan be had\b|\bto be had\b/, 'is not available'),
  form('lets no', /\blets? (?:no|nobody|nothing)\b/, 'rejects'),
  form('wrong words', /\b(?:the|wrong) words (?:or|and|on|of the command)\b|\bwrong words\b/, 'invalid arguments'),
  form('stands in', /\bstands? in (?!for\b)/, 'is in; see'),
  form('lets go of', /\blets? go of\b|\blet go\b/, 'releases; deletes'),
  form('for want of', /\bfor (?:the )?want of\b/, 'because … is missing'),
  form('taken to be', /\b(?:is|are) taken (?:to be|for)\b/, 'counts as'),
  form(
    'is told to',
    /\b(?:is|are|was|were|be) told to (?:those|all|whom|who)\b|\b(?:who|what) (?:is|was) told\b/,
    'receives',
  ),
  form('that Lodestone knows', /\b(?:that|which) Lodestone (?:knows|does not know)\b/, 'supported; unknown'),
  form('comes alone', /\b(?:come|comes|came|coming) alone\b/, 'is single'),
]

function word(name: string, words: string, instead: string): Rule {
  return { name, pattern: new RegExp(`\\b(?:${words})\\b`, 'i'), instead }
}

function form(name: string, pattern: RegExp, instead: string): Rule {
  return { name, pattern: new RegExp(pattern.source, 'i'), instead }
}
