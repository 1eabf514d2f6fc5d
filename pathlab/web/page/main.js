// The explorer's page: its panels in the order in which they are mounted and drawn.
import { startApp } from "./app.js";
import { panel as controls } from "./controls.js";
import { panel as details } from "./details.js";
import { panel as figure } from "./figure_panel.js";
import { panel as figureTable } from "./figure_table.js";
import { panel as filters } from "./filters_panel.js";
import { panel as live } from "./live.js";
import { panel as notice } from "./notice.js";
import { panel as overlay } from "./overlay.js";
import { panel as reading } from "./reading.js";
import { panel as saved } from "./saved.js";
import { panel as share } from "./share.js";
import { panel as sources } from "./sources.js";
import { panel as title } from "./title_panel.js";
import { panel as verdicts } from "./verdicts.js";

startApp([
  notice,
  sources,
  title,
  figure,
  controls,
  filters,
  details,
  verdicts,
  overlay,
  live,
  figureTable,
  share,
  saved,
  reading,
]);
