// Types of the explorer's scripts for their type check: the records that the scripts share, and the small part of
// plotly.js and uPlot that they use. No page reads this file.

/** A level of a column; the missing one is null where both are named. */
type Level = string | number | boolean;
type Numbers = Float64Array | Int32Array;
/** The constructor of a kind of typed array. */
interface ListKind<List> {
  new (size: number): List;
  new (buffer: ArrayBufferLike, start: number, size: number): List;
  BYTES_PER_ELEMENT: number;
}
/** Anything that numbers can be read from by their place. */
type NumberList = ArrayLike<number>;
type Child = Node | string | number | null | undefined | false | Child[];
/** Of an element: text, or true for an attribute without a value; false, null and undefined leave it out. */
type Attributes = {
  // deno-lint-ignore no-explicit-any -- each kind of event has its own type
  on?: Record<string, (event: any) => unknown>;
  data?: Record<string, string>;
  [name: string]: unknown;
};
type Choice = [value: string, text: string];
type ChoiceGroup = { group: string; options: Choice[] };

// --- the table of trials

/** What the server says of a column. */
interface ColumnFacts {
  name: string;
  label: string;
  unit: string | null;
  /** identity, factor, condition or measured */
  role: string;
  /** number, time (seconds since the epoch), category or flags */
  kind: string;
  logSuggested: boolean;
  meaning: string;
  levelCount: number;
  missingLabel: string;
  /** of a category, in order */
  levels?: Level[];
}

interface Column extends ColumnFacts {
  /** NaN or -1 where nothing was measured. Nobody reads those of flags, which are bits of the table. */
  values: Numbers;
}

/** A column of levels that have names: one of categories. */
interface CategoryColumn extends Column {
  levels: Level[];
}

interface ResultsSource {
  label: string;
  name: string;
  title: string;
  path?: string | null;
  createdUtc?: string | null;
  medium?: string | null;
  programVersion?: string | null;
  /** the plan drew the order of each cycle at random */
  orderDrawn?: boolean;
  notes?: string[];
}

/** An array of a packed table, as pathlab.report.explorer.packing describes it. */
interface PackedArray {
  type: keyof PackedTypes;
  offset: number;
  count: number;
  shuffled?: boolean;
  missing?: number;
  base?: number;
  scale?: number;
}

interface PackedTypes {
  f64: Float64ArrayConstructor;
  f32: Float32ArrayConstructor;
  u8: Uint8ArrayConstructor;
  u16: Uint16ArrayConstructor;
  u32: Uint32ArrayConstructor;
}

interface TableHeader {
  version: number;
  trials: number;
  sources: ResultsSource[];
  columns: (ColumnFacts & { array: PackedArray | null })[];
  flags: string[];
  reasons: string[];
  flagBits: { low: PackedArray; high: PackedArray };
  reasonCodes: PackedArray;
  live?: boolean;
  control?: boolean;
}

/** A trial of a running campaign: values by column name, the names of its flags, why it does not count. */
interface LiveRow {
  results: string;
  trial: number;
  flags?: string[];
  reason?: string | null;
  [column: string]: unknown;
}

interface FlagBits {
  low: Uint32Array;
  high: Uint32Array;
}

/** The trials, column by column; packed.js says what its parts are. */
interface Table {
  count: number;
  header: TableHeader;
  sources: ResultsSource[];
  columns: Column[];
  flags: string[];
  reasons: string[];
  flagBits: FlagBits;
  reasonCodes: Int16Array;
  /** 1: the trial enters estimates */
  counted: Uint8Array;
  /** Columns that every table has. */
  column(name: "results" | "trial"): CategoryColumn;
  column(name: "started_utc" | "cycle"): Column;
  column(name: string | null): Column | null;
  append(rows: LiveRow[]): number;
}

// --- the view

interface LevelFilter {
  levels: (Level | null)[];
  except: boolean;
  low?: undefined;
  high?: undefined;
}

/** The end null is open. */
interface RangeFilter {
  levels?: undefined;
  except?: undefined;
  low: number | null;
  high: number | null;
}

type Filter = LevelFilter | RangeFilter;

/** What a figure of results shows; null: not given. */
interface View {
  x: string | null;
  y: string[];
  colour: string | null;
  facet: string | null;
  /** median, mean, min, max, p1 to p99, iqr, cdf, ccdf, histogram or course */
  statistic: string;
  /** interval, iqr, extremes or none */
  range: string;
  /** linear, log2 or log10 */
  scaleX: string | null;
  scaleY: string | null;
  minX: number | null;
  maxX: number | null;
  minY: number | null;
  maxY: number | null;
  dots: boolean;
  /** usable or all */
  count: string;
  /** a level of `colour` */
  baseline: string | null;
  /** ratio or difference */
  against: string;
  overlay: string | null;
  /** filters by column; the level null is the missing one */
  where: Record<string, Filter>;
  /** words that a trial's texts hold */
  text: string;
  /** such as A:12 */
  trial: string | null;
  /** such as sender_intervals.rtt_us */
  series: string | null;
}

/** `where` changes the filters of the columns that it names (null lifts one); `where: null` lifts all of them. */
type ViewChange = Partial<Omit<View, "where">> & { where?: Record<string, Filter | null> | null };

// --- what curves.build computes

/** Both ends of an interval; `cut`: at the range of the values, beyond which it would reach. */
interface CutEnds {
  low: number;
  high: number;
  cut: boolean;
}

/** The ends of a range and the value between them; null: none, or undecided. */
interface Estimate {
  y: number | null;
  low: number | null;
  high: number | null;
  /** estimated, cut (within the range of the values), undecided or provisional */
  state: string;
}

interface Point extends Estimate {
  x: number;
  trials: number;
  rows: Uint32Array;
}

/** A point of a curve against the baseline. */
interface Change extends Estimate {
  x: number;
  trials: number;
  baselineTrials: number;
  paired: boolean;
  /** its interval rests on the draw of the order of these cycles */
  drawn: boolean;
}

/** One trial. */
interface Dot {
  x: number;
  y: number;
  row: number;
  counted: boolean;
  reason: string | null;
  flagged: boolean;
}

interface Curve {
  name: string;
  /** the place of its level among those of colour; -1: the missing one; null: no colour */
  colourLevel: number | null;
  yColumn: string;
  points: Point[];
  dots: Dot[];
  edges: number[];
}

interface AgainstCurve {
  facet: string;
  name: string;
  colourLevel: number | null;
  yColumn: string;
  points: Change[];
}

interface Facet {
  name: string;
  curves: Curve[];
}

interface Axis {
  column: string;
  label: string;
  unit: string | null;
  scale: string;
  kind: string;
  ticks: number[] | null;
  tickLabels?: string[] | null;
  levels: string[];
  suggested?: string;
  low?: number | null;
  high?: number | null;
  tight?: boolean;
}

interface Exploration {
  title: string;
  notes: string[];
  statistic: string;
  range: string;
  x: Axis;
  ys: Axis[];
  facets: Facet[];
  /** reasons and how many trials each */
  excluded: [string, number][];
  against: AgainstCurve[] | null;
  undecided: number;
}

/** What a builder of curves.js, by the view's statistic, makes of the selected trials. */
interface Drawn {
  x: Axis;
  ys: Axis[];
  facets: Facet[];
  notes: string[];
  against?: AgainstCurve[] | null;
}

interface Part {
  key: number;
  rows: Uint32Array;
}

/** A column as levels. */
interface Levels {
  /** how many there are */
  size: number;
  /** places of a category, else the numbers themselves */
  values: Float64Array;
  /** of each trial of the table its level; -1: missing */
  places: Int32Array;
  /** of a category's levels; null: the texts of the values */
  texts: string[] | null;
  /** the text of a level */
  name(place: number): string;
}

/** A column that selected trials are split by. */
interface SplitColumn {
  levels: Levels;
  /** places of the levels that are shown; one beyond the last: missing */
  shown: number[];
  /** how many levels the selected trials have */
  present: number;
  /** rows by shown level */
  split(rows: Uint32Array): Part[];
  /** of a key among all levels; -1: missing */
  place(key: number): number;
  name(key: number): string;
}

/** What was made of the trials of one x. */
interface PointGroup {
  rows: Uint32Array;
  points: Point[];
  dots: Dot[];
}

/** The trials that a view selects, as curves.js prepares them. */
interface SelectedTrials {
  table: Table;
  view: View;
  rows: Uint32Array;
  ys: Column[];
  facets: SplitColumn | null;
  colours: SplitColumn | null;
  groups: Map<string, PointGroup>;
  used: Uint8Array | null;
  plain: Uint8Array;
  isUsed(row: number): boolean;
  /** whether its only flaw is that the lab was at its limit */
  provisional(row: number): boolean;
  flagged(row: number): boolean;
  splitBy(split: SplitColumn | null, rows: Uint32Array): Part[];
  listLimits(): string[];
  makeCurve(column: Column, colour: number, found: Partial<Curve>): Curve;
  buildFacets(
    columns: Column[],
    makeCurves: (column: Column, colour: number, rows: Uint32Array, facet: number) => Curve[],
  ): Facet[];
}

/** Effect of serial correlation on n samples. */
interface SerialOrder {
  n: number;
  /** correlation of neighbours that is allowed for */
  boundRatio: number;
  /** variance of a mean over that of independent samples */
  inflationRatio: number;
  /** share of the variance that the samples show among each other */
  spreadRatio: number;
  /** degrees of freedom of the sample variance */
  freedom: number;
  /** standard error over that of independent samples of the same spread */
  errorRatio: number;
}

/** A shift of Hodges and Lehmann. */
interface Shift {
  shift: number;
  /** standard error; null: undecided */
  error: number | null;
  freedom: number;
  /** all values are the same */
  equal: boolean;
}

type Ends = { y: number | null; low: number | null; high: number | null };

interface NumberLevels {
  /** the distinct finite numbers, ascending */
  values: Float64Array;
  /** the same as a list */
  levels: number[];
  /** for each trial the place of its number; -1: none */
  places: Int32Array;
}

// --- figures, as pathlab.report.plots.live and figure.js describe them

interface BuiltAxis {
  title: string[];
  log: boolean;
  ends: number[];
  marks?: [number[], string[]];
  /** of its labels, in degrees */
  tilt?: number;
  fixed?: boolean;
}

/** An axis with its marks, as axes.js builds it. */
interface MarkedAxis extends BuiltAxis {
  marks: [number[], string[]];
}

/** What is behind a mark of the figure. */
interface Mark {
  x: number;
  y: number | null;
  low?: number | null;
  high?: number | null;
  at?: number;
  state?: string;
  trials?: number;
  row?: number;
  rows?: Uint32Array;
  yColumn?: string;
  counted?: boolean;
  flagged?: boolean;
  reason?: string | null;
  number?: number;
  facts(): string[];
}

/** A mark whose place on the axis is known. */
interface PlacedMark extends Mark {
  at: number;
}

type Heights = (number | null)[];

/** What layers of every kind may have. */
interface LayerLook {
  name: string;
  colour: string;
  look: number;
  hatch?: number;
  legend?: boolean;
  curve?: number | string;
  points?: Mark[];
  line?: boolean;
  step?: boolean;
  along?: boolean;
  marked?: boolean;
  filled?: boolean;
  /** of open markers: a dot inside, for provisional points */
  dotted?: boolean;
  faint?: boolean;
  solid?: boolean;
  small?: boolean;
  hollow?: boolean;
  flagged?: boolean;
  unseen?: boolean;
  overlay?: boolean;
  ring?: boolean;
  callout?: string;
  side?: string;
  at_axis?: boolean;
  at_right?: boolean;
  below?: boolean;
  labelled?: boolean;
  vertical?: boolean;
}

interface CurveLayer extends LayerLook {
  kind: "curve";
  x: Heights;
  y: Heights;
  low?: Heights;
  high?: Heights;
  texts?: string[];
}

interface PointsLayer extends LayerLook {
  kind: "points";
  x: number[];
  y: Heights;
  low?: undefined;
  hover?: string[];
  outlier?: number[];
}

interface AreaLayer extends LayerLook {
  kind: "area";
  x: Heights;
  y?: undefined;
  low: Heights;
  high: Heights;
}

interface BarsLayer extends LayerLook {
  kind: "bars";
  x: number[];
  y?: undefined;
  low?: undefined;
  height: Heights;
  bottom?: number[];
  width: number | number[];
}

interface GridLayer extends LayerLook {
  kind: "grid";
  x: (string | number)[];
  y: (string | number)[];
  low?: undefined;
  values: Heights[];
  texts: string[][];
  colours: [string, string][][];
  unit: string;
}

/** What has no mark: it is drawn in the colour of text. */
type UnmarkedLook = Omit<LayerLook, "colour" | "look"> & { colour?: string; look?: number };

interface RuleLayer extends UnmarkedLook {
  kind: "rule";
  x?: undefined;
  y?: undefined;
  value: number;
  low?: number;
  high?: number;
}

interface SpanLayer extends UnmarkedLook {
  kind: "span";
  x?: undefined;
  y?: undefined;
  low?: undefined;
  start: number;
  end: number;
}

type Layer = CurveLayer | PointsLayer | AreaLayer | BarsLayer | GridLayer | RuleLayer | SpanLayer;
/** A layer that becomes a trace with a mark for each x. */
type TraceLayer = CurveLayer | PointsLayer | AreaLayer | BarsLayer | GridLayer;

interface PlotPanel {
  title: string | null;
  x: BuiltAxis;
  y: BuiltAxis;
  layers: Layer[];
  blank?: string;
}

/** What report.js draws. */
interface Plot {
  name: string;
  shared_x: boolean;
  ink: string;
  heights: number[];
  panels: PlotPanel[];
}

interface FigurePanel extends PlotPanel {
  x: MarkedAxis;
  y: MarkedAxis;
  yAxis: Axis;
  column: number;
  row: number;
  facet: Facet;
  yColumn: string;
  against: boolean;
}

interface DotCount {
  dots: number;
  drawn: number;
  flagged: number;
  excluded: number;
}

/** The layer behind a trace of the figure. */
interface FigureEntry {
  panel: FigurePanel;
  layer: TraceLayer;
}

/** The figure of an exploration. */
interface Figure extends Plot {
  panels: FigurePanel[];
  columns: number;
  rows: number;
  /** the part of the height that each row of panels has */
  shares: number[];
  count: DotCount;
  entries: FigureEntry[];
  fixedY: boolean;
}

interface Slot {
  colour: string;
  look: number;
  hatch?: number;
}

/** A curve of a published table over the figure. */
interface Overlay {
  name: string;
  yColumn: string;
  points: { x: number; y: number | null; facts?: string[] }[];
}

/** How large a picture of the figure is, and its colours. */
interface PictureSize {
  width: number;
  height: number | null;
  sizePx: number;
  ink: string;
  paper: string;
  top?: number;
  bottom?: number;
}

type Plan = (how: PictureSize) => { figure: Figure; plot: PlotlyFigure };

// --- plotly.js and uPlot

/** plotly.js describes its traces, axes and layout by hundreds of attributes of many types; they stay open here. */
// deno-lint-ignore no-explicit-any
type PlotlyObject = Record<string, any>;

interface PlotlyFigure {
  data: PlotlyObject[];
  layout: PlotlyObject;
  config: PlotlyObject;
}

/** The element that plotly.js draws in, with what it adds to it. */
interface PlotlyElement extends HTMLElement {
  layout: PlotlyObject;
  _fullLayout: PlotlyObject;
  on(event: string, listener: (event: PlotlyObject) => void): void;
}

interface PlotlyLibrary {
  react(
    area: Element,
    data: PlotlyObject[],
    layout: PlotlyObject,
    config: PlotlyObject,
  ): Promise<unknown>;
  toImage(figure: PlotlyFigure, how: PlotlyObject): Promise<string>;
  purge(area: Element): void;
  relayout(area: Element, change: PlotlyObject): Promise<unknown>;
}

type Times = number[];
/** Times, and for each line its values. */
type Aligned = [Times, ...Heights[]];

interface UPlot {
  over: HTMLElement;
  width: number;
  bbox: { left: number; top: number; width: number; height: number };
  ctx: CanvasRenderingContext2D;
  cursor: { idx: number | null | undefined };
  destroy(): void;
  setData(data: Aligned, resetScales: boolean): void;
  setScale(name: string, ends: { min: number; max: number }): void;
  setSize(size: { width: number; height: number }): void;
  batch(change: () => void): void;
  valToPos(value: number, scale: string, onCanvas: boolean): number;
}

interface UPlotLibrary {
  new (options: object, data: Aligned, root: Element): UPlot;
  join(tables: Aligned[]): Aligned;
  paths: { stepped(how: { align: number }): unknown };
}

// --- documents of the server, as trial_document.py, courses.py, verdict_document.py and others write them

interface Neighbour {
  name: string;
  started: string;
  combination: string;
  throughput: string | null;
  status: string;
  failure: string | null;
  excluded: string | null;
}

interface DetailSection {
  key: string;
  title: string;
  facts?: [string, string][];
  columns?: string[];
  rows?: string[][];
  notes?: string[];
}

interface TrialDetails extends Neighbour {
  title: string;
  path: string;
  medium: string;
  remarks: string[];
  unreadable: string[];
  flags: { name: string; meaning: string | null }[];
  sections: DetailSection[];
  before: Neighbour[];
  after: Neighbour[];
  courses: { series: string; label: string; unit: string | null; group: string }[];
  steady: [number, number] | null;
}

interface Course {
  series: string;
  label: string;
  unit: string | null;
  group: string;
  first: number;
  last: number;
  start: number;
  end: number;
  step: boolean;
  reduced: boolean;
  x: Times;
  lines: { name: string; total: boolean; values: Heights }[];
  bandX: Times;
  bands: { name: string; values: Heights }[];
  lost: number[];
  notes: string[];
}

/** A part of a series: `kind.column` is its name. */
interface CourseRequest {
  kind: string;
  column: string;
  start?: number | null;
  end?: number | null;
  pixels?: number;
}

interface VerdictTable {
  title: string;
  after: string;
  columns: string[];
  rows: string[][];
  verdicts: string[];
}

interface Verdicts {
  refused?: string;
  baseline: string;
  undecided: boolean;
  sentences: string[];
  notes: string[];
  tables: VerdictTable[];
}

/** A table of verdicts with the class of each cell. */
interface ShownVerdicts {
  title: string;
  columns: string[];
  rows: [text: string, kind: string | null][][];
}

interface PublishedTable {
  id: string;
  title: string;
  source: string;
  condition: string;
  x: string;
  needs: string;
  levels: number[];
  curves: { name: string; y: Record<string, Heights> }[];
}

interface SavedView {
  name: string;
  view: string;
  results: string;
}

interface PlanRow {
  row: number;
  cycle: number;
  path: string;
  settings: string;
}

interface CatalogueEntry {
  id: string;
  title: string | null;
  name: string | null;
  path: string;
  state: string;
  problem: string | null;
  failed: number;
  complete: number;
  planned: number;
  createdUtc: string | null;
  changedUtc: string | null;
  sizeBytes: number;
}

interface Catalogue {
  entries: CatalogueEntry[];
  openMax: number;
  folder: string | null;
}

/** What an exported page shows besides its table; courses by trial and series, verdicts by view. */
interface ExportedDocuments {
  trials: Record<string, TrialDetails>;
  courses: Record<string, Course>;
  verdicts: Record<string, Verdicts>;
  published: PublishedTable[];
  views: SavedView[];
}

/** What one of the results says once its run has ended, with links to its report and explorer. */
interface RunEnd {
  answers: { lead: string; remarks: string[] }[];
  report: string;
  explorer: string;
}

/** What is known of the run of one of the results: `run` and `progress` events. */
interface Run {
  results: string;
  state: string;
  text?: string;
  shown: boolean;
  /** a letter for each row of the plan */
  rows?: string;
  complete: number;
  planned: number;
  failed_trials: number;
  left: { expected_ns: number; at_most_ns: number } | null;
  budget?: { bytes_per_campaign?: number; bytes_per_day?: number; rate_bits_per_s?: number } | null;
  sent_bytes: number;
  sent_today_bytes: number;
  measuring_s: number;
  paused_s: number;
  time_utc: string;
}

interface TrialRecord {
  plan_row: number;
  status: string;
  failed_stage: string | null;
  failure: string | null;
  started_utc: string;
  path_source: string;
  path_destination: string;
}

/** The streams of a trial at one moment; `streams`: number and value of each that is shown. */
interface StreamReading {
  streams: [number, number][];
  count: number;
  median: number;
}

/** An event of a running campaign; which parts it has depends on `event`. */
interface LiveEvent extends Run, StreamReading {
  event: string;
  trial: number;
  record: TrialRecord;
  row: LiveRow & number;
  text: string;
  reason: string;
  until_utc: string;
  at_most: boolean;
  recorded_utc: string;
  events: number;
  attempt: number;
  source: string;
  destination: string;
  levels: string;
  estimate_ns: number;
  bits_per_s: number;
  rtt_ns: number | null;
  segments: number;
  lost_packets: number;
  received_packets: number;
  measure: "bits_per_s" | "rtt_ns";
}

/** A trial under way. */
interface TrialNow {
  results: string;
  row: number;
  attempt: number;
  source: string;
  destination: string;
  levels: string;
  estimate_ns: number;
  began: number;
  rates: number[];
  measures: { bits_per_s?: StreamReading; rtt_ns?: StreamReading };
  rtt?: number | null;
  retransmitted?: number;
  loss?: number;
}

// --- the page

/** Where the results come from. */
interface Source {
  /** served or exported */
  mode: string;
  table: Table;
  /** more trials will come */
  live: boolean;
  /** what the page leaves out, for its readers */
  notices: string[];
  /** ids of the results of a served page, for `?open=` of every request */
  opened?: string | null;
  trial(row: number): Promise<TrialDetails>;
  course(row: number, wanted: CourseRequest): Promise<Course>;
  /** those of `compare` for a view */
  verdicts(text: string): Promise<Verdicts>;
  /** tables to lay over the figure */
  published(): Promise<PublishedTable[]>;
  /** a file cannot save any */
  views: {
    list(): Promise<SavedView[]>;
    save?(name: string, view: string, replaces: string | undefined): Promise<Response>;
    remove?(name: string, view: string, results: string): Promise<Response>;
  };
  /** of the run; null: none */
  control: Record<"stop" | "pause" | "resume", () => Promise<Response>> | null;
  /** rows of the plan */
  plan: ((results: string, first: number, count: number) => Promise<{ rows: PlanRow[] }>) | null;
}

interface Notice {
  text: string;
  /** warning or info */
  kind: string;
}

/** Facts of events: view, data, drawn, settled, notices and what panels emit. */
interface AppEvents {
  view: [View];
  data: [Table];
  drawn: [Exploration | null];
  settled: [Exploration | null];
  notices: [Map<string, Notice>];
  ready: [App];
  figure: [Figure];
  live: [LiveEvent];
  runs: [Map<string, Run>];
}

/** The page's state, complete when panels are mounted. */
interface App {
  source: Source;
  table: Table;
  /** changed by setView alone */
  view: View;
  /** the view as text: the fragment of the address */
  text: string;
  /** the rows that the view selects */
  rows: Uint32Array;
  /** what curves.build made of them; null: it failed */
  exploration: Exploration | null;
  overlays: Overlay[];
  notices: Map<string, Notice>;
  setView(change: ViewChange, how?: { replace: boolean }): void;
  setOverlays(overlays: Overlay[]): void;
  grow(rows: LiveRow[]): void;
  replace(source: Source): void;
  redraw(): void;
  on<Name extends keyof AppEvents>(name: Name, listener: (...facts: AppEvents[Name]) => void): () => void;
  emit<Name extends keyof AppEvents>(name: Name, ...facts: AppEvents[Name]): void;
  announce(text: string): void;
  notice(text: string, about?: { key?: string; kind?: string }): void;
  withdraw(key: string): void;
  focusFigure(): void;
}

/** An app whose exploration was computed. */
interface ExploredApp extends App {
  exploration: Exploration;
}

/** A part of the page. */
interface Panel {
  /** the element `[data-panel=NAME]` of explorer.html is its root */
  name: string;
  /** drawn in the same frame as the figure; others follow after it */
  early?: boolean;
  /** called once, when the results are there */
  mount?(root: HTMLElement, app: App): void;
  /** called after every change of view or data */
  update?(app: App): void;
}

/** The elements of the figure's panel. */
interface FigureParts {
  legend: HTMLElement;
  live: PlotlyElement;
  cursor: HTMLElement;
  facts: HTMLElement;
  frame: HTMLElement;
  keys: HTMLElement;
  caption: HTMLElement;
  empty: HTMLElement;
  figure: HTMLElement;
  course: HTMLElement;
  courseOf: string | null;
  listening: boolean;
}

/** A curve of the figure, or one against the baseline. */
interface TableCurve {
  name: string;
  points: (Point | Change)[];
}

interface FigureTable {
  caption: string;
  x: Axis;
  y: Axis;
  curves: TableCurve[];
}

/** The length of an axis in px, the size of its type, and free px at either end; limits that are given by hand. */
interface AxisRoom {
  px: number;
  sizePx?: number;
  across?: boolean;
  padPx?: number;
  low?: number | null;
  high?: number | null;
  letters?: number;
}

/** Which columns are offered; `none`: the text of the choice of no column; `measured`: those come first. */
interface ColumnOptions {
  suits: (column: Column) => boolean;
  none?: string;
  measured?: boolean;
}

interface FigureRoom {
  view: View;
  table: Table;
  overlays?: Overlay[];
  width: number;
  height: number;
  ink: string;
  sizePx?: number;
}

interface LayoutRoom {
  width: number;
  height: number;
  sizePx: number;
  top?: number;
  bottom?: number;
}

/** The series that is shown, and from when to when it is seen. */
interface ShownCourse {
  row: number;
  series: string;
  details: TrialDetails;
  found: Course;
  data: Aligned;
  start: number;
  end: number;
}
interface CourseChart {
  show(row: number, details: TrialDetails, series: string | null): void;
  destroy(): void;
}

/** What page.js and report.js offer, on reports as well. */
interface Page {
  tabulate(plot: Plot): string;
}

interface Plots {
  drawAll(): Promise<unknown>;
  tabulate(plot: Plot): string;
  describe(plot: Plot): PlotlyFigure;
}

interface Window {
  /** the request for the table that begin.js sent; source.js takes it */
  pathlabBegun?: Promise<Response> | null;
  pathlabPage: Page;
  pathlabPlots: Plots;
  Plotly: PlotlyLibrary;
  uPlot: UPlotLibrary;
}
